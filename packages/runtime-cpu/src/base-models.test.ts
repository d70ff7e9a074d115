import { expect, test } from 'vitest';
import { sampleRequest } from '../test/small-model.ts';
import { loadBaseModel } from './base-models.ts';
import { renderPrompt } from './text/chat-template.ts';
import { decodeTokens } from './text/tokenizer.ts';

test('tiny-reader copies names that it has never seen', async () => {
  const model = await loadBaseModel('tiny-reader', 1);
  const names = ['Vosk Ardel', 'Trimou', 'Quen of Lasti', 'Bohdar', 'Stefi Norro', 'Wilma'];
  const responses = await Promise.all(
    names.map(async (name) => {
      const promptTokens = renderPrompt([{ role: 'user', content: `Repeat: ${name}` }], []);
      const { choices } = await model.sample(sampleRequest({ promptTokens, maxTokens: 20, temperature: 0 })).result;
      return decodeTokens(choices.map(({ token }) => token).filter((token) => token < 256));
    }),
  );
  const copied = responses.filter((response, index) => response === names[index]);
  expect(copied.length).toBeGreaterThanOrEqual(5);
});
