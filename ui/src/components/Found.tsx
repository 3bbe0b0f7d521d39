import type { Card } from "../ipc/generated";
import { localized } from "./amounts";
import { FindingLine } from "./Findings";
import { ShownText } from "./ShownText";

/** What will happen, and what a careful reader would see first: the strongest finding, and those of the whole call. */
export const Found = ({ card }: { readonly card: Pick<Card, "effect" | "findings"> }) => (
  <>
    {card.effect === null ? null : (
      <p className="selectable mt-0 mb-3 text-[16px]/[1.35] font-semibold" data-testid="effect">
        <ShownText text={localized(card.effect)} />
      </p>
    )}
    {card.findings.length === 0 ? null : (
      <div className="mb-3 flex flex-col gap-1.5" data-testid="findings">
        {card.findings.map((finding, place) =>
          place === 0 || finding.at.length === 0 ? (
            // Findings keep their order.
            // oxlint-disable-next-line react/no-array-index-key
            <FindingLine key={place} finding={finding} />
          ) : null,
        )}
      </div>
    )}
  </>
);
