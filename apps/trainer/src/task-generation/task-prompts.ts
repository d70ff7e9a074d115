/** Version of the prompts, which tasks record. */
export const promptVersion = 1;

/** Instructions for a model that proposes questions. */
export function proposalPrompt({ about }: { readonly about: string | null }): string {
  return [
    'You write questions for an examination of assistants that use tools.',
    'First call the tools to see what they return. Then reply with a JSON list of questions, and nothing else:',
    '["question", "question"]',
    'A question can be answered only with the tools, has exactly one correct answer, a number, a name or a few words, and names everything',
    'that its answer depends on. It does not name tools. Vary tools, arguments and the number of calls.',
    ...(about === null ? [] : [`Subject of the questions: ${about}`]),
  ].join('\n');
}

/** The request for a number of questions that differ from the previous ones. */
export function proposalRequest(count: number, previous: readonly string[]): string {
  const known = previous.slice(-50).map((question) => `- ${question}`);
  return [
    `Write ${count} questions.`,
    ...(known.length === 0 ? [] : ['Questions that exist, and must not be repeated:', ...known]),
  ].join('\n');
}

/** Instructions for an attempt with tools. */
export const attemptPrompt =
  'Answer the question with the tools. Reply with the answer only: a number, a name or a few words, without a sentence around it.';

/** Instructions for an attempt without tools. */
export const guessPrompt =
  'Answer the question as well as you can. Reply with the answer only: a number, a name or a few words, without a sentence around it.';

/** The questions of a reply; empty when it is not a JSON list of texts. */
export function questionsOf(text: string): readonly string[] {
  const list = text.slice(text.indexOf('['), text.lastIndexOf(']') + 1);
  try {
    const parsed: unknown = JSON.parse(list);
    if (!Array.isArray(parsed)) return [];
    return parsed.flatMap((item: unknown) => (typeof item === 'string' && item.trim() !== '' ? [item.trim()] : []));
  } catch {
    return [];
  }
}
