// A client written with the SDK for JavaScript: calls every tool, reads every resource, renders every prompt.
// Arguments: folder of node_modules, command of the server (or its address), folder that it serves, …
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [modules, target, ...rest] = process.argv.slice(2);
const load = (path) =>
  import(pathToFileURL(join(modules, "@modelcontextprotocol/sdk/dist/esm", path)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: rest, stderr: "ignore" });
const client = new Client({ name: "javascript", version: "1" });
await client.connect(transport);

const calls = {
  cobre_validate: { case_dir: "case" },
  cobre_inspect_case: { case_dir: "case" },
  cobre_list_scenarios: { case_dir: "case" },
  cobre_get_config_schema: {},
  cobre_run: { case_dir: "case", output_dir: "javascript", wait_s: 50 },
  cobre_run_status: { wait_s: 50 },
  cobre_stop_run: {},
  cobre_list_runs: {},
  cobre_query_results: { output_dir: "javascript", entity_type: "buses", filters: { limit: 5 } },
  cobre_query_convergence: { output_dir: "javascript" },
  cobre_inspect_policy: { policy_dir: "javascript", stage: 0 },
  cobre_evaluate_policy: { policy_dir: "javascript", stage: 0, states: [{}] },
  cobre_compare_policies: { policy_dirs: ["case/output", "javascript"] },
  cobre_compare_runs: { run_a: "case/output", run_b: "javascript" },
  cobre_export_results: { output_dir: "javascript", format: "csv", entity_type: "costs" },
  cobre_report: { output_dir: "javascript" },
  cobre_explain_error: { kind: "ParseError" },
};
const found = { tools: [], resources: [], templates: [], prompts: [], progress: [], failed: [] };
let runId;
for (const tool of (await client.listTools()).tools) {
  found.tools.push(tool.name);
  const given = { ...calls[tool.name] };
  if (["cobre_run_status", "cobre_stop_run"].includes(tool.name)) given.run_id = runId;
  const result = await client.callTool({ name: tool.name, arguments: given }, undefined, {
    onprogress: (progress) => found.progress.push(progress.progress),
  });
  if (result.isError) found.failed.push([tool.name, result.content[0].text]);
  if (tool.name === "cobre_run" && !result.isError) runId = result.structuredContent.run_id;
}
for (const { uri } of (await client.listResources()).resources) {
  const { contents } = await client.readResource({ uri });
  JSON.parse(contents[0].text);
  found.resources.push(uri);
}
for (const { uriTemplate } of (await client.listResourceTemplates()).resourceTemplates) {
  const uri = uriTemplate
    .replace("{case_dir}", "case")
    .replace("{output_dir}", "javascript")
    .replace("{entity_type}", uriTemplate.includes("case") ? "hydros" : "buses")
    .replace("{entity_id}", "1")
    .replace("{path}", encodeURIComponent("javascript/exports/costs.csv"));
  const { contents } = await client.readResource({ uri });
  if (!contents.length) found.failed.push([uri, "empty"]);
  found.templates.push(uriTemplate);
}
for (const prompt of (await client.listPrompts()).prompts) {
  const given = Object.fromEntries(prompt.arguments.map(({ name }) => [name, "case/output"]));
  const { messages } = await client.getPrompt({ name: prompt.name, arguments: given });
  if (!messages[0].content.text.includes("case/output")) found.failed.push([prompt.name, "not rendered"]);
  found.prompts.push(prompt.name);
}
await client.close();
console.log(JSON.stringify(found));
