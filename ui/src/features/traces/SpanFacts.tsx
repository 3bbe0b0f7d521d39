import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { formatDuration } from "../../components/timeline/scale";
import { Entries } from "../../components/Values";
import type { ArtifactView, ChainCall, SpanFault, SpanFaultKind, SpanView } from "../../ipc/generated";
import { Part } from "./Part";
import { formatSize } from "./size";

const NOTHING = new Map<number, never>();

const FAULT: Record<SpanFaultKind, string> = {
  credential: "A credential is missing",
  balance: "The balance is too low",
  tool: "The tool failed",
  tool_timeout: "The tool did not answer in time",
  validation: "The arguments are invalid for the tool",
  other: "It failed",
};

const Fault = ({ fault }: { readonly fault: SpanFault }) => (
  <Section title="Error">
    <div
      className="selectable rounded-lg border border-bad-line bg-bad-bg px-3 py-2 text-[12.5px]"
      data-testid="fault"
      data-kind={fault.kind}
    >
      <b className="font-semibold text-bad">{FAULT[fault.kind]}</b>
      <span className="ml-2 font-mono text-xs text-text-2">
        {fault.code === null ? null : <ShownText text={fault.code} />}{" "}
        {fault.errorType === null ? null : <ShownText text={fault.errorType} />}
      </span>
      {fault.missingKeys.length === 0 ? null : (
        <p className="mt-1 mb-0">
          Missing:{" "}
          {fault.missingKeys.map((key, index) => (
            // Keys keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <code key={index} className="mr-1.5 font-mono text-xs">
              <ShownText text={key} />
            </code>
          ))}
        </p>
      )}
      {fault.param === null ? null : (
        <p className="mt-1 mb-0">
          {fault.tool === null ? null : (
            <>
              <code className="font-mono text-xs">
                <ShownText text={fault.tool} />
              </code>
              ,{" "}
            </>
          )}
          argument{" "}
          <code className="font-mono text-xs">
            <ShownText text={fault.param} />
          </code>
          {fault.issue === null ? null : (
            <>
              : <ShownText text={fault.issue} />
            </>
          )}
        </p>
      )}
      {fault.suggestion === null ? null : (
        <p className="mt-1 mb-0 text-text-2">
          <ShownText text={fault.suggestion} />
        </p>
      )}
      {fault.message === null ? null : (
        <p className="mt-1 mb-0 font-mono text-xs whitespace-pre-wrap">
          <ShownText text={fault.message} block />
        </p>
      )}
    </div>
  </Section>
);

const Artifact = ({ artifact }: { readonly artifact: ArtifactView }) => (
  <li className="row-line py-1.5 last:border-0" data-testid="artifact">
    <ShownText text={artifact.name} />
    <span className="text-text-3">
      {artifact.size === null ? null : `, ${formatSize(artifact.size)}`}
      {artifact.mime === null ? null : (
        <>
          , <ShownText text={artifact.mime} />
        </>
      )}
      {artifact.role === null ? null : (
        <>
          , <ShownText text={artifact.role} />
        </>
      )}
      {artifact.retention === null ? null : (
        <>
          , kept <ShownText text={artifact.retention} />
        </>
      )}
    </span>
    {artifact.sha256 === null ? null : (
      <div className="font-mono text-[11px] text-text-3">
        sha256 <ShownText text={artifact.sha256} />
      </div>
    )}
    {artifact.url === null ? null : (
      <div className="font-mono text-[11px] text-text-3" title="Shown, never fetched">
        <ShownText text={artifact.url} />
      </div>
    )}
  </li>
);

const Calls = ({ calls }: { readonly calls: readonly ChainCall[] }) => (
  <Section title={`Calls of the chain: ${calls.length} (from its record)`}>
    <table className="selectable w-full font-mono text-xs" data-testid="chain">
      <tbody>
        {calls.map((call, index) => (
          // Calls keep their order.
          // oxlint-disable-next-line react/no-array-index-key
          <tr key={index} className="row-line">
            <td className="py-1 pr-2 text-right text-text-3">{index + 1}</td>
            <td className="w-full py-1">
              <ShownText text={call.tool} />
            </td>
            <td className="py-1 pr-2 text-text-2">
              <ShownText text={call.status} />
            </td>
            <td className="py-1 text-right whitespace-nowrap text-text-3">
              {call.durationMs === null ? "" : formatDuration(call.durationMs)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Section>
);

/** What went in, what came out, what went wrong. */
export const SpanFacts = ({ span }: { readonly span: SpanView }) => (
  <>
    {span.fault === null ? null : <Fault fault={span.fault} />}
    {span.input.length === 0 ? null : (
      <Section title={span.inputCut ? "Input, its beginning" : "Input"}>
        <Entries entries={span.input} revealed={NOTHING} label="Input" />
      </Section>
    )}
    {span.output.length === 0 ? null : (
      <Section title="Output">
        <div className="flex flex-col gap-2" data-testid="output">
          {span.output.map((part, index) => (
            // Parts keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <Part key={index} part={part} />
          ))}
        </div>
      </Section>
    )}
    {span.artifacts.length === 0 ? null : (
      <Section title="Artifacts">
        <ul
          className={`selectable m-0 list-none rounded-lg border border-line bg-panel px-3 py-1 text-[12.5px]
          [overflow-wrap:anywhere]`}
        >
          {span.artifacts.map((artifact, index) => (
            // Artifacts keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <Artifact key={index} artifact={artifact} />
          ))}
        </ul>
      </Section>
    )}
    {span.chain.length === 0 ? null : <Calls calls={span.chain} />}
  </>
);
