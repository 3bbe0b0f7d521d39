/** Schemas of tools, whichever library made them: as JSON Schema for the card, and to check an edit. */

interface Standard {
  readonly validate: (value: unknown) => Validation | Promise<Validation>;
  readonly jsonSchema?: { readonly input: (options: { target: string }) => unknown };
}

type Validation = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly unknown[] };

/** What the AI SDK makes of a schema. */
interface AiSchema {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => AiValidation | PromiseLike<AiValidation>;
}

type AiValidation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

/** The JSON Schema of a tool's input; undefined where nobody knows it. */
export async function jsonSchemaOf(schema: unknown): Promise<object | undefined> {
  try {
    const standard = standardOf(schema);
    const found = standard?.jsonSchema?.input({ target: "draft-2020-12" }) ?? (await aiSchemaOf(schema))?.jsonSchema;
    const json: unknown = await found;
    return typeof json === "object" && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The value as the schema reads it, or why it does not take it. Without a schema everything is taken. */
export async function validated(
  schema: unknown,
  value: unknown,
): Promise<{ value: unknown; issues: null } | { value?: undefined; issues: string }> {
  const standard = standardOf(schema);
  if (standard !== null) {
    const found = await standard.validate(value);
    return found.issues === undefined ? { value: found.value, issues: null } : { issues: JSON.stringify(found.issues) };
  }
  const found = await (await aiSchemaOf(schema))?.validate?.(value);
  if (found?.success === false) return { issues: found.error.message };
  return { value: found === undefined ? value : found.value, issues: null };
}

function standardOf(schema: unknown): Standard | null {
  const found = (schema as { "~standard"?: Standard } | null | undefined)?.["~standard"];
  return typeof found?.validate === "function" ? found : null;
}

async function aiSchemaOf(schema: unknown): Promise<AiSchema | null> {
  if (schema === undefined || schema === null) return null;
  if (typeof schema === "object" && "jsonSchema" in schema) return schema as AiSchema;
  if (typeof schema === "function") return aiSchemaOf((schema as () => unknown)());
  return null;
}
