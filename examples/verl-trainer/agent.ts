/**
 * An agent that asks for a number twice, and is instructed in between to use digits only. An ordinary agent on the
 * client `openai`; nothing in this file is about training.
 *
 * @module
 */
import type OpenAI from 'openai';

/** Asks a model for a number twice. Returns both answers. */
export async function askForNumbers(client: OpenAI, question: string): Promise<readonly string[]> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const ask = async (): Promise<string> => {
    const { choices } = await client.chat.completions.create({ model: 'policy', messages, max_tokens: 8 });
    return choices[0]?.message.content ?? '';
  };
  const first = await ask();
  messages.push({ role: 'assistant', content: first }, { role: 'user', content: 'Another.' });
  return [first, await ask()];
}
