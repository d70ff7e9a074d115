const openTag = '<prompt>';
const closeTag = '</prompt>';

/**
 * The text of a reply between `<prompt>` and `</prompt>`; the whole reply, without a code fence around it, where the
 * model left the marks out. A prompt may contain its own fences. Empty when the reply broke off in the prompt.
 */
export function promptOfReply(reply: string): string {
  // What some models think aloud may name the marks too.
  const said = reply.replace(/^\s*<think>[\s\S]*?<\/think>/, '');
  const start = said.indexOf(openTag);
  if (start >= 0) {
    const end = said.lastIndexOf(closeTag);
    return trimNewlines(said.slice(start + openTag.length, Math.max(end, start + openTag.length)));
  }
  const fenced = /^\s*```[\w-]*\n([\s\S]*?)\n```\s*$/.exec(said)?.[1];
  return (fenced ?? said).trim();
}

/** Without line feeds at the start and the end. A pattern such as `\n+$` takes quadratic time. */
function trimNewlines(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === '\n') start += 1;
  while (end > start && text[end - 1] === '\n') end -= 1;
  return text.slice(start, end);
}

/** A rule for rewriting that every request for a new prompt ends with. */
export const replyFormat: string = [
  'Keep every placeholder of the prompt exactly as written, and add no others.',
  'Do not write answers of particular tasks into the prompt: it is used for unseen tasks.',
  'Reply with the new prompt between <prompt> and </prompt>, and nothing else.',
].join('\n');
