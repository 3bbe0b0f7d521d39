import { Overlay } from "../Overlay";
import { Section } from "../Section";
import { plainText } from "../shown";
import { ShownText } from "../ShownText";
import type { WhyDecided } from "../../ipc/generated";
import { Reasons } from "./Reasons";
import { useWhy } from "./useWhy";
import { Failed } from "../Failed";

const ALL = 50;
const WHO: Record<string, string> = { rule: "The rule", setup_key: "The setup key" };
const digest = "font-mono text-xs [overflow-wrap:anywhere] text-text-3";

const Decided = ({ decided }: { readonly decided: WhyDecided }) => (
  <Section title="What decided it">
    <p className="selectable m-0 text-text-2">
      {WHO[plainText(decided.origin)] ?? <ShownText text={decided.origin} />}{" "}
      <b className="font-mono font-semibold text-text">
        {decided.rule === null ? "without a name" : <ShownText text={decided.rule} />}
      </b>
      {decided.version === null ? "" : `, version ${decided.version}`}.
    </p>
    {decided.policyDigest === null ? null : (
      <p className={`selectable mt-1 mb-0 ${digest}`}>
        under the rule set <ShownText text={decided.policyDigest} />
      </p>
    )}
    {decided.words === null ? (
      decided.policyDigest === null ? null : (
        <p className="mt-1 mb-0 text-xs text-text-3">Another console decided; its rules are not stored here.</p>
      )
    ) : (
      <pre
        className={`selectable mt-2 mb-0 max-h-56 overflow-auto rounded-lg border border-line bg-bg px-3 py-2
        font-mono text-xs text-text-2`}
      >
        <ShownText text={decided.words} block />
      </pre>
    )}
  </Section>
);

/** Which rule decided or asked, which nearly did, which setup key, and under which digest. */
export const WhyDialog = ({ requestKey, onClose }: { readonly requestKey: string; readonly onClose: () => void }) => {
  const { data, error } = useWhy(requestKey);
  const workspace = requestKey.split("/")[0] ?? "";
  return (
    <Overlay title="Why" onClose={onClose}>
      <div data-testid="why">
        <Failed error={error} className="mt-0" />
        {data === undefined ? (
          error === null ? (
            <p className="m-0 text-text-3">Reading…</p>
          ) : null
        ) : (
          <>
            {data.decided === null ? null : <Decided decided={data.decided} />}
            <Section title={data.decided === null ? "What the rules say" : "What the rules would say now"}>
              {data.now === null ? (
                <p className="m-0 text-text-2">No rules here yet, so every call needs a person.</p>
              ) : (
                <>
                  <Reasons now={data.now} workspace={workspace} most={ALL} />
                  {data.now.near.length === 0 ? (
                    <p className="mt-2 mb-0 text-xs text-text-3">No rule came close.</p>
                  ) : null}
                  <p className={`selectable mt-2 mb-0 ${digest}`}>rule set in force {data.now.policyDigest}</p>
                </>
              )}
            </Section>
          </>
        )}
      </div>
    </Overlay>
  );
};
