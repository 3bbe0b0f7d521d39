/**
 * Everything that opens over the desk: dialogs, menus, popovers. The linter lets no other file take them from Radix,
 * so that none of them can forget to disarm what lies below it.
 */
import { Dialog as RadixDialog, DropdownMenu as RadixMenu, Popover as RadixPopover } from "radix-ui";
import type { ComponentProps, ComponentType, ReactNode } from "react";
import { useCover } from "../commands/CommandContext";

/** Content exists while it is open, and no longer. */
const Cover = () => {
  useCover();
  return null;
};

const covering = <Props extends { readonly children?: ReactNode }>(Content: ComponentType<Props>) =>
  function Covering(props: Props) {
    return (
      <Content {...props}>
        <Cover />
        {props.children}
      </Content>
    );
  };

export const Dialog = { ...RadixDialog, Content: covering(RadixDialog.Content) };
export const Menu = { ...RadixMenu, Content: covering(RadixMenu.Content) };
/** It is a dialog to who listens: one without a name is none. */
type Named = ComponentProps<typeof RadixPopover.Content> & { readonly "aria-label": string };
export const Popover = { ...RadixPopover, Content: covering<Named>(RadixPopover.Content) };
