import shell from "../shell/en.json";

const others = import.meta.glob<Record<string, string>>(["../*/en.json", "!../shell/*"], {
  import: "default",
});
export default { shell, others };
