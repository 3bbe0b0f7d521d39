import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { card, ruleRow, shown } from "../../test/build";
import { press } from "../../test/hands";
import { enable, onCard, open, ready, text } from "../../test/rules";
import { screenObserver } from "../../test/setup";
import type { Card } from "../ipc/generated";

const STRICT: Partial<Card> = {
  risk: "critical",
  path: "critical",
  reveals: [{ reveal: 0, kind: "secret", place: shown("password") }],
};
const saved = { id: "small", version: 4, conflict: null, gone: false, denied: null, waiting: null };

describe("a rule for critical or irreversible calls", () => {
  it("starts in shadow from its card, which offers the way back", async () => {
    const console = await onCard({ remove_rule: () => ({ denied: null, waiting: null }) }, STRICT);
    press("p");
    expect((await screen.findByTestId("grant-strict")).textContent).toContain("starts in shadow");
    const shadow = await screen.findByRole<HTMLButtonElement>("button", { name: "Run in shadow" });
    await waitFor(() => {
      expect(shadow.disabled).toBe(false);
    });
    expect(screen.queryByTestId("rule-enable")).toBeNull();
    fireEvent.click(shadow);
    const done = (await screen.findByTestId("grant-done")).parentElement as HTMLElement;
    expect(done.textContent).toContain("runs in shadow");
    expect(console.argsOf("save_rule")).toMatchObject([{ state: "shadow" }]);
    expect(within(done).getByRole("link", { name: "See the rule" }).getAttribute("href")).toContain("delete-invoice");
    expect(document.activeElement?.textContent).toBe("Done");
    fireEvent.click(within(done).getByText("Undo"));
    await screen.findByText(/is removed/u);
    expect(console.argsOf("remove_rule")).toMatchObject([{ id: "delete-invoice" }]);
    expect(within(done).queryByText("Undo")).toBeNull();
    fireEvent.click(within(done).getByText("Done"));
    await waitFor(() => {
      expect(screen.queryByTestId("grant")).toBeNull();
    });
  });

  it("is enabled after the steps of such a call: read to its end, revealed and typed", async () => {
    screenObserver.unseen = "[data-place=end]";
    const console = await open([ruleRow({ state: "shadow" })], {
      rule_text: ({ id }) => text({ id, text: `id = "${id}"\nenabled = "shadow"\neffect = "approve"\n` }),
      card: ({ key }) => card({ ...STRICT, key }),
      reveal: () => ({ reveal: 0, value: shown("hunter2"), ascii: '"hunter2"' }),
      save_rule: ({ steps }) =>
        steps === undefined ? { ...saved, version: null, steps: "acme/billing-bot/r1" } : saved,
    });
    await ready("Enable");
    fireEvent.click(await enable());
    const dialog = await screen.findByTestId("steps");
    const yes = within(dialog).getByTestId<HTMLButtonElement>("steps-yes");
    const isOff = (): void => {
      expect(yes.disabled).toBe(true);
    };
    isOff();
    screenObserver.becomes(null);
    fireEvent.click(await within(dialog).findByText("Reveal what is hidden"));
    await within(dialog).findByText("is exactly", { exact: false });
    isOff();
    const field = within(dialog).getByLabelText("Type the tool’s name");
    fireEvent.change(field, { target: { value: "delete_invoic" } });
    isOff();
    fireEvent.change(field, { target: { value: "delete_invoice" } });
    await waitFor(() => {
      expect(yes.disabled).toBe(false);
    });
    fireEvent.click(yes);
    await waitFor(() => {
      expect(screen.queryByTestId("steps")).toBeNull();
    });
    expect(console.argsOf("save_rule").at(-1)).toMatchObject({
      state: "on",
      steps: { key: "acme/billing-bot/r1", typed: "delete_invoice", revealed: [0] },
    });
    expect(console.argsOf("decide")).toEqual([]);
  });
});
