/**
 * The text of a reply between `<prompt>` and `</prompt>`; the whole reply, without a code fence around it, where the
 * model left the marks out. A prompt may well contain fences of its own.
 */
export function promptOfReply(reply: string): string {
  const marked = /<prompt>([\s\S]*)<\/prompt>/.exec(reply)?.[1];
  if (marked !== undefined) return marked.replace(/^\n+|\n+$/g, '');
  const fenced = /^\s*```[\w-]*\n([\s\S]*?)\n```\s*$/.exec(reply)?.[1];
  return (fenced ?? reply).trim();
}

/** A rule for rewriting that every request for a new prompt ends with. */
export const replyFormat: string = [
  'Keep every placeholder of the prompt exactly as it is written, and add no others.',
  'Do not write answers of particular tasks into the prompt: it is used for tasks nobody has seen.',
  'Reply with the new prompt between <prompt> and </prompt>, and nothing else.',
].join('\n');
