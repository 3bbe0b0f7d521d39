// What agents ask in the pictures.
/** Who asks what of `TYPICAL`. */
export const ASKERS = { "billing-bot": [0, 1], "infra-agent": [2], "erp-agent": [3], coder: [4], assistant: [5, 6] };
export const TYPICAL = [
  {
    name: "delete_customer_data", risk: "critical", effects: "irreversible", timeout: 58, thread_id: "8f21", call_id: "call_93Jd",
    args: { customer: "acme\u202e", tables: ["invoices", "contacts", "payments", "subscriptions", "refunds", "notes", "files", "consents", "sessions"], dry_run: false, api_key: "9f3ac01e9f3ac01e9f3ac01e9f3ac01e" },
    reason: "This will permanently delete all data of customer “acme”: 3,412 rows in 9 tables. It cannot be undone.",
    effective: { fixed: { tenant: "acme-prod" }, injected_names: ["connection"] },
    history: [{ role: "user", content: "Remove everything we hold about acme." }, { role: "assistant", content: "I looked the customer up and listed 3,412 rows. I will delete them now." }],
    native_digest: { alg: "sha256", value: "4be190c7a1d277a2" },
  },
  { name: "send_email", risk: "high", timeout: 75, thread_id: "8f21", args: { to: "maria@acme.example", subject: "Your invoice", body: "Please find it attached." }, reason: "She asked for it" },
  { name: "shell.exec", risk: "high", timeout: 250, run_id: "77c0", args: { command: "terraform apply -target=module.edge", cwd: "/srv/infra" } },
  { name: "http.post", risk: "medium", timeout: 362, run_id: "5d1e", args: { url: "https://erp.example/invoices", total: "1,180.00 EUR" } },
  { name: "git.push", risk: "medium", timeout: 587, run_id: "01aa", args: { remote: "origin", branch: "main", commits: 2 } },
  { name: "calendar.create", risk: "low", timeout: 860, thread_id: "2b90", args: { title: "Quarterly review", invitees: 6 } },
  { name: "crm.update_contact", risk: "low", timeout: null, thread_id: "2b90", args: { id: 8812, phone: "+34 600 123 456" } },
];
export const EARLIER = { name: "delete_customer_data", risk: "low", args: { customer: "northwind-test", tables: TYPICAL[0].args.tables, dry_run: true, api_key: TYPICAL[0].args.api_key }, timeout: 30 };
export const LONG = {
  name: "write_file", risk: "high", timeout: 600, reason: `${"The file is long and every line of it matters. ".repeat(12)}`,
  args: { path: "/srv/app/config/production.yaml", text: Array.from({ length: 120 }, (_, line) => `service_${line}: ${"value ".repeat((line % 7) + 1)}`).join("\n"), mode: "0644", tags: ["a", "b"], deep: { a: { b: { c: [1, 2, { d: "x" }] } } } },
};
export const COMMAND = {
  name: "shell.exec", risk: "high", timeout: 250, run_id: "77c0", reason: "The cache is stale, the shop shows old prices",
  args: { command: "cd /srv/shop && rm -rf \"cache/$(cat cache/current | tr -d '\\n')\"; systemctl reload shop || logger 'reload failed; look'", cwd: "/srv" },
};
export const CHANGE = {
  name: "edit_file", risk: "medium", timeout: 400, run_id: "77c0", reason: "Retries were too eager",
  args: {
    file_path: "src/retry.py", old_string: "def wait(attempt):\n    delay = 2 ** attempt\n    return delay\n",
    new_string: "def wait(attempt):\n    delay = min(2 ** attempt, 60)\n    return delay * random()\n",
  },
};
export const REJECTED = ["bad-json", '{"v":1,"kind":"tool_call",', "bad-version", '{"v":2}', "bad-risk", '{"v":1,"kind":"tool_call","request_id":"bad-risk"}', "bad-kind", '{"v":1,"kind":"wish"}'];
