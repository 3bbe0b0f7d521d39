/**
 * Imported before everything else: a desktop without a locale calls its language "C", which is not a language tag,
 * and whoever asks for number formats with it throws.
 */
export const languageOf = (reported: string): string => {
  try {
    return Intl.getCanonicalLocales(reported)[0] ?? "en";
  } catch {
    return "en";
  }
};

const language = languageOf(navigator.language);
if (language !== navigator.language)
  Object.defineProperty(navigator, "language", { value: language, configurable: true });
