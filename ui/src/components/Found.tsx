import type { Card, FindingView } from "../ipc/generated";
import { localized } from "./amounts";
import { DeniedBefore } from "./DeniedBefore";
import { FindingLine } from "./Findings";
import { plainText } from "./shown";
import { ShownText } from "./ShownText";

type FoundCard = Pick<Card, "denied" | "effect" | "findings">;

/** A denial is one line, with the way to the denied call and an age that goes on. */
const Line = ({ card, finding }: { readonly card: FoundCard; readonly finding: FindingView }) => (
  <FindingLine finding={finding}>
    {finding.code === "denied_before" && card.denied !== null ? (
      <DeniedBefore
        denied={card.denied}
        exact={(plainText(finding.message).split(": ")[0] ?? "").includes("this exact call")}
      />
    ) : null}
  </FindingLine>
);

const DENIED: FindingView = { code: "denied_before", weight: "stop", at: [], message: [] };

/** What will happen, and what a careful reader would see first: the strongest finding, and those of the whole call. */
export const Found = ({ card }: { readonly card: FoundCard }) => {
  const isReported = card.denied === null || card.findings.some(({ code }) => code === DENIED.code);
  const findings = isReported ? card.findings : [...card.findings, DENIED];
  return (
    <>
      {card.effect === null ? null : (
        <p className="selectable mt-0 mb-3 text-[16px]/[1.35] font-semibold" data-testid="effect">
          <ShownText text={localized(card.effect)} />
        </p>
      )}
      {findings.length === 0 ? null : (
        <div className="mb-3 flex flex-col gap-1.5" data-testid="findings">
          {findings.map((finding, place) =>
            place === 0 || finding.at.length === 0 || finding.code === DENIED.code ? (
              // Findings keep their order.
              // oxlint-disable-next-line react/no-array-index-key
              <Line key={place} card={card} finding={finding} />
            ) : null,
          )}
        </div>
      )}
    </>
  );
};
