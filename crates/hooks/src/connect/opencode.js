// Written by `countersign connect opencode`; `countersign disconnect opencode` removes it.
import { spawn } from "node:child_process"

const command = ["COMMAND"]

function answer(event) {
  return new Promise((resolve, reject) => {
    const hook = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    const texts = { out: "", err: "" }
    hook.stdout.on("data", (part) => (texts.out += part))
    hook.stderr.on("data", (part) => (texts.err += part))
    hook.on("error", reject)
    hook.stdin.on("error", () => {})
    hook.on("close", (code) => {
      if (code !== 0) return reject(new Error(texts.err.trim() || `${event.tool} was not run: the hook ended with ${code}`))
      resolve(JSON.parse(texts.out))
    })
    hook.stdin.end(JSON.stringify(event))
  })
}

export const Countersign = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const event = { event: "tool.execute.before", tool, sessionID, callID, directory, args: output.args }
    const { decision, args, reason } = await answer(event)
    if (decision === "unasked") return
    if (decision !== "allow") throw new Error(reason || `${tool} was not run: the hook gave no decision`)
    // In place: OpenCode runs this very object.
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, args)
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }) => {
    await answer({ event: "tool.execute.after", tool, sessionID, callID, args: args ?? {} }).catch(() => {})
  },
})
