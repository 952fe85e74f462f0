import shell from "../shell/ca.json";

const others = import.meta.glob<Record<string, string>>(["../*/ca.json", "!../shell/*"], {
  import: "default",
});
export default { shell, others };
