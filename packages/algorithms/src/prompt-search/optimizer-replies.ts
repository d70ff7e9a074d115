const openTag = '<prompt>';
const closeTag = '</prompt>';

/**
 * Extracts the prompt between `<prompt>` and `</prompt>` from a reply. Empty when one of the tags is missing: the rest of such a
 * reply would become part of the prompt.
 */
export function promptOfReply(reply: string): string {
  // Reasoning text of the model may contain the tags too.
  const said = reply.replace(/^\s*<think>[\s\S]*?<\/think>/, '');
  const start = said.indexOf(openTag);
  if (start < 0) return '';
  const end = said.lastIndexOf(closeTag);
  return trimNewlines(said.slice(start + openTag.length, Math.max(end, start + openTag.length)));
}

/** Removes line feeds at the start and the end. A pattern such as `\n+$` takes quadratic time. */
function trimNewlines(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === '\n') start += 1;
  while (end > start && text[end - 1] === '\n') end -= 1;
  return text.slice(start, end);
}

/** Instructions at the end of every request for a new prompt. */
export const replyFormat: string = [
  'Keep every placeholder of the prompt exactly as written, and add no others.',
  'Do not write answers of particular tasks into the prompt: it is used for unseen tasks.',
  'Reply with the new prompt between <prompt> and </prompt>, and nothing else.',
].join('\n');
