/**
 * The text of a reply between `<prompt>` and `</prompt>`; the whole reply, without a code fence around it, where the
 * model left the marks out. A prompt may well contain fences of its own. Empty when the reply broke off in the prompt.
 */
export function promptOfReply(reply: string): string {
  // What some models think aloud may name the marks too.
  const said = reply.replace(/^\s*<think>[\s\S]*?<\/think>/, '');
  const marked = /<prompt>([\s\S]*)<\/prompt>/.exec(said)?.[1];
  if (marked !== undefined) return marked.replace(/^\n+|\n+$/g, '');
  if (said.includes('<prompt>')) return '';
  const fenced = /^\s*```[\w-]*\n([\s\S]*?)\n```\s*$/.exec(said)?.[1];
  return (fenced ?? said).trim();
}

/** A rule for rewriting that every request for a new prompt ends with. */
export const replyFormat: string = [
  'Keep every placeholder of the prompt exactly as it is written, and add no others.',
  'Do not write answers of particular tasks into the prompt: it is used for tasks nobody has seen.',
  'Reply with the new prompt between <prompt> and </prompt>, and nothing else.',
].join('\n');
