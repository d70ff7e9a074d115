import type { Attributes, AttributeValue } from './span.ts';
import { modelCallAttributes, pythonReaderAttributes } from './span-attributes.ts';

/**
 * The attributes of a span as a store returns them: a recorded model call also has its log-probabilities in the form of
 * the Python readers, and omits the list of token texts.
 */
export function attributesForReaders(attributes: Attributes): Attributes {
  const { [modelCallAttributes.responseTokens]: tokens, ...others } = attributes;
  const logprobs = attributes[modelCallAttributes.responseLogprobs];
  if (!isNumbers(logprobs) || attributes[pythonReaderAttributes.logprobs] !== undefined) return attributes;
  const content = logprobsJson(logprobs, isTexts(tokens) ? tokens : []);
  return { ...others, [pythonReaderAttributes.logprobs]: content };
}

/** JSON of `{ token, logprob }` for each token. */
function logprobsJson(logprobs: readonly number[], tokens: readonly string[]): string {
  return JSON.stringify(
    logprobs.map((logprob, index) => {
      const token = tokens[index];
      return token === undefined ? { logprob } : { token, logprob };
    }),
  );
}

function isNumbers(value: AttributeValue | undefined): value is readonly number[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'number');
}

function isTexts(value: AttributeValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
