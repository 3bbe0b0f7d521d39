/** Amounts of the console's own sentences, which have 12,490.00, as the window's locale writes them. */
import type { Shown } from "../ipc/generated";

/** Only before a currency: a version or an address of an agent stays as it is. */
const AMOUNT = /(?<![\w.,/-])\d{1,3}(?:,\d{3})*(?:\.\d{2})?(?= [A-Z]{3}\b)/g;

const written = (amount: string, locale: string): string => {
  const [, decimals = ""] = amount.split(".");
  return Number(amount.replaceAll(",", "")).toLocaleString(locale, {
    minimumFractionDigits: decimals.length,
    maximumFractionDigits: decimals.length,
  });
};

export const localized = (text: Shown, locale: string = navigator.language): Shown =>
  text.map((segment) =>
    segment.kind === "text"
      ? { ...segment, text: segment.text.replaceAll(AMOUNT, (amount) => written(amount, locale)) }
      : segment,
  );
