import shell from "../shell/eu.json";

const others = import.meta.glob<Record<string, string>>(["../*/eu.json", "!../shell/*"], {
  import: "default",
});
export default { shell, others };
