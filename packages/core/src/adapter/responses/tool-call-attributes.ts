import type { Attributes, AttributeValue } from '../../spans/span.ts';
import { genAiAttributes } from '../../spans/span-attributes.ts';
import { plainText } from '../../spans/unknown-value.ts';

/** The known fields of a tool call. */
export interface ToolCallFields {
  /** The id that the model assigned. @default not recorded, as for any value but a text */
  readonly id?: unknown;
  /** The arguments. @default not recorded */
  readonly input?: unknown;
  /** The result. @default not recorded */
  readonly output?: unknown;
}

/** Span attributes of a tool call. Values that are not text become JSON. */
export function toolCallAttributes({ id, input, output }: ToolCallFields): Attributes {
  const known: Record<string, AttributeValue> = {};
  if (typeof id === 'string') known[genAiAttributes.toolCallId] = id;
  if (input !== undefined) known[genAiAttributes.toolCallArguments] = plainText(input);
  if (output !== undefined) known[genAiAttributes.toolCallResult] = plainText(output);
  return known;
}
