import { useState } from "react";
import { RiskBadge } from "../../components/RiskBadge";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { plainText } from "../../components/shown";
import { Moment } from "../../components/Moment";
import type { AgentToolView, AgentView } from "../../ipc/generated";
import { TypedTarget } from "./TypedTarget";

const tag = "rounded px-1.5 text-[11px] font-semibold";

const Change = ({ tool }: { readonly tool: AgentToolView }) => (
  <div className="mt-2 grid grid-cols-2 gap-2" data-testid="tool-change">
    {(
      [
        ["When a person last approved a call", tool.before],
        ["Now", tool.now],
      ] as const
    ).map(([title, text]) => (
      <div key={title} className="min-w-0">
        <div className="mb-1 text-[11.5px] text-text-3">{title}</div>
        <pre
          className={`selectable m-0 max-h-64 overflow-auto rounded-lg border border-line bg-panel px-3 py-2
          font-mono text-xs/[1.55] whitespace-pre-wrap`}
        >
          {text === null ? "not kept" : <ShownText text={text} block />}
        </pre>
      </div>
    ))}
  </div>
);

const Tool = ({ agent, tool }: { readonly agent: string; readonly tool: AgentToolView }) => {
  const [open, setOpen] = useState(false);
  return (
    <li className="row-line py-2.5 last:border-0" data-testid="tool">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-mono text-[12.5px] font-semibold">
          <ShownText text={tool.name} />
        </span>
        {tool.risk === null ? null : <RiskBadge risk={tool.risk} />}
        {tool.unknownRisk === null ? null : (
          <span className="text-[11.5px] text-text-3">
            says “<ShownText text={tool.unknownRisk} />”
          </span>
        )}
        {tool.gated ? null : (
          <span
            className={`${tag} bg-bad-bg text-bad`}
            title="Its agent cannot hold the call, so no person can be asked first"
          >
            cannot be gated
          </span>
        )}
        {tool.strict ? <span className={`${tag} bg-raised text-text-2`}>strict</span> : null}
        {tool.changed ? (
          <button
            type="button"
            className={`${tag} bg-warn-bg text-warn-text hover:underline`}
            aria-expanded={open}
            onClick={() => {
              setOpen(!open);
            }}
          >
            changed since it was last approved
            {tool.approvedMs === null ? null : (
              <>
                {" "}
                (<Moment ms={tool.approvedMs} />)
              </>
            )}
          </button>
        ) : null}
        {tool.unlisted ? <span className="text-[11.5px] text-text-3">no longer listed by the agent</span> : null}
        <span className="ml-auto flex gap-3 text-[11.5px] text-text-3">
          {tool.typed === null ? null : <TypedTarget agent={agent} tool={tool} typed={tool.typed} />}
          {tool.origin === null ? null : <ShownText text={tool.origin} />}
        </span>
      </div>
      {tool.description === null ? null : (
        <p className="selectable mt-1 mb-0 max-w-[760px] text-text-2">
          <span className="mr-1.5 rounded border border-line px-1 text-[10.5px] text-text-3">says</span>
          <ShownText text={tool.description} />
        </p>
      )}
      {tool.looksLike === null ? null : (
        <p role="note" className="mt-1 mb-0 text-warn">
          Its name can be mistaken for{" "}
          <code className="font-mono text-xs">
            <ShownText text={tool.looksLike} />
          </code>
          .
        </p>
      )}
      {tool.strictFaults.map((fault, index) => (
        // Faults keep the order of the schema.
        // oxlint-disable-next-line react/no-array-index-key
        <p key={index} role="note" className="mt-1 mb-0 text-warn">
          Its schema is not strict at{" "}
          <code className="font-mono text-xs">
            <ShownText text={fault.path} />
          </code>
          : <ShownText text={fault.what} />
        </p>
      ))}
      {open ? <Change tool={tool} /> : null}
    </li>
  );
};

export const Tools = ({ agent }: { readonly agent: AgentView }) => (
  <Section
    title={
      agent.helloMs === null ? (
        "Tools, from its requests: it has sent no hello"
      ) : (
        <>
          Tools, from its hello (<Moment ms={agent.helloMs} />)
        </>
      )
    }
  >
    {agent.tools.length === 0 ? (
      <p className="m-0 text-text-3">It lists no tools.</p>
    ) : (
      <ul className="m-0 list-none p-0">
        {/* By its name: another hello may list others before it, and what is open or chosen for one tool is for no
            other. */}
        {agent.tools.map((tool) => (
          <Tool key={plainText(tool.name)} agent={agent.key} tool={tool} />
        ))}
      </ul>
    )}
  </Section>
);
