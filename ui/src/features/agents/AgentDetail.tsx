import { ShownText } from "../../components/ShownText";
import { Section } from "../../components/Section";
import { Moment } from "../../components/Moment";
import { formatAgo } from "../../desk/clock";
import type { AgentView } from "../../ipc/generated";
import { ControlBar } from "./ControlBar";
import { Gate } from "./Gate";
import { Tools } from "./Tools";
import { Region } from "../../components/Region";

const PRESENCE: Record<AgentView["presence"], string> = {
  live: "heard within the last 30 s",
  silent: "silent",
  unheard: "never heard",
};

const Copies = ({ agent, nowMs }: { readonly agent: AgentView; readonly nowMs: number }) => (
  <Section title="Running instances">
    <ul className="selectable m-0 list-none p-0" data-testid="instances">
      {agent.instances.map((instance, index) => (
        // Those heard last come first; drawn anew with every reading.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={index} className="row-line flex gap-3 py-1.5 last:border-0">
          <span
            className={`mt-[5px] size-2 shrink-0 rounded-full border-[1.5px]
              ${instance.live ? "border-ok bg-ok" : "border-text-3"}`}
            aria-hidden="true"
          />
          <span className="min-w-0 flex-1 truncate font-mono text-xs">
            {instance.id.length === 0 ? (
              <span className="font-sans text-text-3">no id</span>
            ) : (
              <ShownText text={instance.id} />
            )}
          </span>
          <span className="text-text-3">
            {instance.live ? "live" : `heard ${formatAgo(nowMs - instance.lastSeenMs)}`}, since{" "}
            <Moment ms={instance.firstSeenMs} />
          </span>
        </li>
      ))}
    </ul>
  </Section>
);

const Credentials = ({ agent }: { readonly agent: AgentView }) => (
  <Section title="Credentials (states only, never values)">
    <ul className="selectable m-0 list-none p-0" data-testid="credentials">
      {agent.credentials.map((credential, index) => (
        // Credentials keep the order of the hello.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={index} className="row-line py-1.5 last:border-0">
          <span className="font-mono text-xs">
            {credential.tool === null ? "any tool" : <ShownText text={credential.tool} />}
          </span>
          <span className="ml-2 text-text-2">
            {credential.status === null ? "state unknown" : <ShownText text={credential.status} />}
          </span>
          {credential.missingKeys.length === 0 ? null : (
            <span className="ml-2 text-warn">
              needs{" "}
              {credential.missingKeys.map((key, place) => (
                // Keys keep their order.
                // oxlint-disable-next-line react/no-array-index-key
                <code key={place} className="mr-1.5 font-mono text-xs">
                  <ShownText text={key} />
                </code>
              ))}
            </span>
          )}
        </li>
      ))}
    </ul>
  </Section>
);

const Faults = ({ agent }: { readonly agent: AgentView }) => (
  <div className="mb-5 flex flex-col gap-2">
    {agent.helloFault === null ? null : (
      <p
        role="note"
        className="m-0 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px] text-warn-text"
      >
        Its latest hello could not be read, so an earlier one is shown: <ShownText text={agent.helloFault} />
      </p>
    )}
    {agent.faults.map((fault, index) => (
      // Faults keep the order of the hello.
      <p
        // oxlint-disable-next-line react/no-array-index-key
        key={index}
        role="note"
        className="m-0 rounded-[7px] border border-warn-line bg-warn-bg px-3 py-2 text-[12.5px] text-warn-text"
      >
        <code className="font-mono text-xs">
          <ShownText text={fault.path} />
        </code>{" "}
        was left out: <ShownText text={fault.what} />
      </p>
    ))}
  </div>
);

/** One agent: how it is, whether it is paused, its tools and credentials. */
export const AgentDetail = ({ agent, nowMs }: { readonly agent: AgentView; readonly nowMs: number }) => (
  <article className="flex min-h-0 flex-1 flex-col" aria-label="Agent" data-testid="agent" data-key={agent.key}>
    <header className="border-b border-line px-7 pt-[18px] pb-3.5">
      <div className="mb-1.5 text-xs text-text-3">
        workspace <em className="text-text-2 not-italic">{agent.workspace}</em> / agent
      </div>
      <h2 className="selectable m-0 font-mono text-xl/tight font-semibold">{agent.agent}</h2>
      <p className="mt-2 mb-0 text-text-2">
        {agent.framework === null ? "framework unknown" : <ShownText text={agent.framework} />}
        {agent.kind === null ? null : (
          <>
            , <ShownText text={agent.kind} />
          </>
        )}
        {" · "}
        {PRESENCE[agent.presence]}
        {agent.presence === "silent" && agent.lastSeenMs !== null
          ? `, heard ${formatAgo(nowMs - agent.lastSeenMs)}`
          : ""}
        {agent.lastRequestMs === null ? null : (
          <>
            {" "}
            · last request <Moment ms={agent.lastRequestMs} />
          </>
        )}
        {" · "}
        {agent.enrolled ? (
          "has credentials from this console"
        ) : agent.revokedMs === null ? (
          "has no credentials from this console"
        ) : (
          <>
            credentials revoked <Moment ms={agent.revokedMs} />
          </>
        )}
      </p>
      {agent.gate === null ? null : <Gate gate={agent.gate} nowMs={nowMs} />}
    </header>
    <Region label="Tools, credentials and instances" className="flex-1 px-7 py-[18px]">
      {agent.helloFault === null && agent.faults.length === 0 ? null : <Faults agent={agent} />}
      <Tools agent={agent} />
      {agent.credentials.length === 0 ? null : <Credentials agent={agent} />}
      {agent.instances.length === 0 ? null : <Copies agent={agent} nowMs={nowMs} />}
      {agent.skills.length === 0 ? null : (
        <Section title="Skills">
          <p className="selectable m-0">
            {agent.skills.map((skill, index) => (
              // Skills keep the order of the hello.
              // oxlint-disable-next-line react/no-array-index-key
              <span key={index} className="mr-2 rounded border border-line px-1.5 text-text-2">
                <ShownText text={skill} />
              </span>
            ))}
          </p>
        </Section>
      )}
    </Region>
    <ControlBar agent={agent} nowMs={nowMs} />
  </article>
);
