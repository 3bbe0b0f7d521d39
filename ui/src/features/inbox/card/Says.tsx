import { Bounded } from "../../../components/Bounded";
import { Section } from "../../../components/Section";
import { ShownText } from "../../../components/ShownText";
import type { Card } from "../../../ipc/generated";

const FIELD: Record<string, string> = {
  preview: "preview",
  title: "title",
  explanation: "explains",
  command: "command",
  description: "about this tool",
};

/** The agent's words, marked as its words and never as fact. However many they are, they take a part of the window. */
export const Says = ({ card }: { readonly card: Card }) =>
  card.says.length === 0 ? null : (
    <Section title={`What ${card.agent} says`}>
      <Bounded className="max-h-[24vh] rounded-lg border border-line border-dashed px-3 py-2" name="words">
        {card.says.map(({ field, text }) => (
          <p key={field} className="selectable mt-0 mb-2 max-w-[760px] text-text-2 last:mb-0" data-testid="said">
            <span className="mr-1.5 rounded border border-line px-1.5 py-px text-[11px] text-text-3 select-none">
              {card.agent} {FIELD[field] ?? "says"}
            </span>
            <ShownText text={text} block />
          </p>
        ))}
      </Bounded>
    </Section>
  );
