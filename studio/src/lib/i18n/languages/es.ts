import shell from "../shell/es.json";

const others = import.meta.glob<Record<string, string>>(["../*/es.json", "!../shell/*"], {
  import: "default",
});
export default { shell, others };
