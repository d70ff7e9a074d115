import type { SpanView } from '../../src/api/rollout-views.ts';

/** Paths of the model APIs by the name in a span. */
const paths: Readonly<Record<string, string>> = {
  'chat-completions': 'chat/completions',
  completions: 'completions',
  responses: 'responses',
  messages: 'messages',
};

/**
 * A shell command that repeats the request of a model call. The base URL and the key are variables: the address of an attempt
 * is invalid after its end.
 */
export function curlCommand({ attributes, requestBody }: SpanView): string {
  const api = attributes['agentlightning.api'];
  const path = (typeof api === 'string' ? paths[api] : undefined) ?? 'chat/completions';
  return [
    `curl "$BASE_URL/${path}"`,
    "-H 'content-type: application/json'",
    '-H "authorization: Bearer $API_KEY"',
    `--data-raw ${shellWord(requestBody ?? '{}')}`,
  ].join(' \\\n  ');
}

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
