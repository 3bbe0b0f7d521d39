import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Button } from "../../components/Button";
import { Failed } from "../../components/Failed";
import { Found } from "../../components/Found";
import { Overlay } from "../../components/Overlay";
import { Section } from "../../components/Section";
import { ShownText } from "../../components/ShownText";
import { Entries } from "../../components/Values";
import { useDesk } from "../../desk/DeskContext";
import type { Card, StepsDone } from "../../ipc/generated";
import { Way } from "./acts/WayPanel";
import { Effective, History, Warnings } from "./card/Sections";
import { useSeenEnd } from "./card/useSeenEnd";
import { missingStep } from "./steps";
import { useCardActs } from "./useCardActs";

interface StepsProps {
  readonly onDone: (steps: StepsDone) => Promise<unknown>;
  readonly onClose: () => void;
}

const Steps = ({ card, onDone, onClose }: StepsProps & { readonly card: Card }) => {
  // Nothing is decided here: only what is read, revealed and typed counts.
  const acts = useCardActs(
    card,
    () => Promise.resolve(null),
    () => {},
  );
  const { content, openEvidence, progress, revealed, sawEnd, sawName } = acts;
  useEffect(() => {
    openEvidence();
    sawName();
  }, [openEvidence, sawName]);
  const end = useSeenEnd<HTMLDivElement>(content, () => {
    sawEnd(content);
  });
  const missing = missingStep(card, progress);
  const done = (): Promise<unknown> =>
    onDone({
      key: card.key,
      seenRequestDigest: card.origin.requestDigest,
      typed: progress.typed,
      revealed: [...revealed.keys()],
    });
  return (
    <div data-testid="steps" data-key={card.key}>
      <p className="mt-0 text-text-2">
        Calls like this one of <b className="font-semibold text-text">{card.agent}</b> will run without asking a person.
        Enabling takes the same steps as approving it.
      </p>
      {card.tool === null ? null : (
        <h2 className="selectable mt-0 mb-3 font-mono text-base font-semibold">
          <ShownText text={card.tool.name} />
        </h2>
      )}
      <Found card={card} />
      {card.args === null ? null : (
        <Section title="Arguments">
          <Entries entries={card.args} revealed={revealed} label="Arguments" findings={card.findings} />
        </Section>
      )}
      <Effective groups={card.effective} revealed={revealed} />
      <Warnings card={card} revealed={revealed} />
      <History messages={card.history} open onOpen={openEvidence} />
      <div ref={end} data-place="end" className="h-px" aria-hidden="true" />
      <div className="-mx-5">
        <Way card={card} target={card.target} progress={progress} onType={acts.type} />
      </div>
      {acts.problem === null ? null : (
        <p role="alert" className="mb-0 text-bad">
          {acts.problem}
        </p>
      )}
      <div className="mt-5 flex flex-wrap justify-end gap-2.5">
        {missing === "reveal" ? (
          <Button className="mr-auto" onClick={() => void acts.revealAll()}>
            Reveal what is hidden
          </Button>
        ) : null}
        <Button onClick={onClose}>
          Cancel <kbd className="kbd">Esc</kbd>
        </Button>
        <Button tone="deny" disabled={missing !== null} data-testid="steps-yes" onClick={() => void done()}>
          Enable
        </Button>
      </div>
    </div>
  );
};

/** Takes the steps of a critical or irreversible call before a rule approves such calls. */
export const StepsDialog = ({ requestKey, ...rest }: StepsProps & { readonly requestKey: string }) => {
  const desk = useDesk();
  const { data, error } = useQuery({
    queryKey: ["card", requestKey],
    queryFn: () => desk.call("card", { key: requestKey }),
  });
  return (
    <Overlay title="Enable a rule for critical or irreversible calls?" wide onClose={rest.onClose}>
      {data === undefined ? (
        error === null ? (
          "Reading the request…"
        ) : (
          <Failed error={error} />
        )
      ) : (
        <Steps card={data} {...rest} />
      )}
    </Overlay>
  );
};
