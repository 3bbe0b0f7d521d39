import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { useOwnMenu } from "./menu";

const Page = () => {
  useOwnMenu();
  return (
    <>
      <p>words</p>
      <input aria-label="field" />
    </>
  );
};
const offered = (of: Element): boolean =>
  of.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true }));

it("the web view's own menu is there for what is typed or selected, and nowhere else", () => {
  render(<Page />);
  const words = screen.getByText("words");
  expect(offered(words)).toBe(false);
  expect(offered(screen.getByLabelText("field"))).toBe(true);
  document.getSelection()?.selectAllChildren(words);
  expect(offered(words)).toBe(true);
});
