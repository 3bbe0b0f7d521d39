// Written by `countersign connect opencode`; `countersign disconnect opencode` removes it.
import { spawn } from "node:child_process"
import { isDeepStrictEqual } from "node:util"

const command = ["COMMAND"]

function answer(event, phase) {
  return new Promise((resolve, reject) => {
    const hook = spawn(command[0], [...command.slice(1), "--event", phase], { stdio: ["pipe", "pipe", "pipe"] })
    const texts = { out: "", err: "" }
    // A letter may be cut between two parts.
    hook.stdout.setEncoding("utf8").on("data", (part) => (texts.out += part))
    hook.stderr.setEncoding("utf8").on("data", (part) => (texts.err += part))
    hook.on("error", reject)
    hook.stdin.on("error", () => {})
    hook.on("close", (code) => {
      if (code !== 0) return reject(new Error(texts.err.trim() || `${event.tool} was not run: the hook ended with ${code}`))
      try {
        resolve(JSON.parse(texts.out))
      } catch (error) {
        reject(error)
      }
    })
    hook.stdin.end(JSON.stringify(event), "utf8")
  })
}

export const Countersign = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const event = { event: "tool.execute.before", tool, sessionID, callID, directory, args: output.args }
    const { decision, args, edited, reason } = await answer(event, "before")
    if (decision === "unasked") return
    if (decision !== "allow") throw new Error(reason || `${tool} was not run: the hook gave no decision`)
    if (edited === true) {
      // In place: OpenCode runs this very object.
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, args)
    } else if (!isDeepStrictEqual(JSON.parse(JSON.stringify(output.args)), args)) {
      throw new Error(`${tool} was not run: its arguments are not the approved ones (digest_differs)`)
    }
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
    const event = { event: "tool.execute.after", tool, sessionID, callID, args: args ?? {} }
    const { words } = await answer(event, "after").catch(() => ({}))
    if (words && typeof output?.output === "string") output.output += `\n${words}`
  },
})
