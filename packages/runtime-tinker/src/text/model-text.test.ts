import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chatMl, renderingsFolder, textWith } from '../../test/model-texts.ts';
import { readModelFolder } from './model-folder.ts';
import { ModelText } from './model-text.ts';

interface Rendering {
  readonly template: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly tokens: readonly number[];
}

const renderings: readonly Rendering[] = JSON.parse(
  await readFile(path.join(renderingsFolder, 'renderings.json'), 'utf8'),
);

test.each(renderings.map((rendering, index) => [index, rendering] as const))(
  'conversation %i has the text and the tokens of Transformers',
  async (_index, { template, text, tokens, ...conversation }) => {
    const model = await textWith({ template });
    const rendered = model.template.render(conversation);
    expect(rendered).toBe(text);
    expect(model.encode(rendered)).toEqual(tokens);
    expect(model.decode(tokens, { skipSpecialTokens: false })).toBe(text);
  },
);

describe('a template', () => {
  const question = { role: 'user', content: '1+1' } as const;
  const call = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } } as const;
  const tool = { type: 'function', function: { name: 'add', parameters: {} } } as const;

  test('that knows no tools gets them as text', async () => {
    const { template } = await textWith({ source: chatMl });
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: null, tool_calls: [call] },
    ];
    const text = template.render({ messages, tools: [tool] });
    expect(text).toContain('<|im_start|>system\nBe brief.\n\nYou may call');
    expect(text).toContain('"name":"add"');
    expect(text).toContain(
      '<|im_start|>assistant\n<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call><|im_end|>',
    );
  });

  test('that rejects a conversation is quoted', async () => {
    const { template } = await textWith({ source: "{{ raise_exception('Roles must alternate') }}" });
    expect(() => template.render({ messages: [question], tools: [] })).toThrow(/messages: .*Roles must alternate/);
  });

  test('is required', async () => {
    await expect(textWith({ source: null })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('has no chat template'),
      remedy: expect.stringContaining('chat_template.jinja'),
    });
  });

  test('with a syntax error is refused', async () => {
    await expect(textWith({ source: '{% for %}' })).rejects.toThrow(/chat template is not usable/);
  });

  test('is given no content but texts', async () => {
    const { template } = await textWith({ source: chatMl });
    const image = { role: 'user', content: [{ type: 'image_url' }] };
    expect(() => template.render({ messages: [image], tools: [] })).toThrow(/"image_url" is not a text/);
  });

  test('renders a response up to the end token', async () => {
    const { template } = await textWith({ source: chatMl });
    const text = template.renderResponse(
      { messages: [question], tools: [tool] },
      { content: null, tool_calls: [call] },
    );
    expect(text).toBe('<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call><|im_end|>');
  });

  test('that changes the prompt for a response is refused', async () => {
    const { template } = await textWith({ source: '{% if messages | length > 1 %}Two{% else %}One{% endif %}' });
    expect(() => template.renderResponse({ messages: [question], tools: [] }, { content: '2' })).toThrow(
      /forced_message: .*changes the prompt/,
    );
  });
});

test('tokens that are parts of a character have bytes', async () => {
  const text = await textWith({ source: chatMl });
  const bytes = text.encode('👩é').flatMap((token) => [...text.tokenText(token).bytes]);
  expect(Buffer.from(bytes).toString()).toBe('👩é');
});

test('hashes tell tokenizers and templates apart', async () => {
  const [one, other] = await Promise.all([textWith({ template: 'turns' }), textWith({ template: 'headers' })]);
  expect(one.tokenizerSha256).toMatch(/^[0-9a-f]{64}$/);
  expect(one.tokenizerSha256).toBe(other.tokenizerSha256);
  expect(one.chatTemplateSha256).not.toBe(other.chatTemplateSha256);
});

describe('the files of a model', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'hub-'));
    const snapshot = path.join(folder, 'models--some--model', 'snapshots', 'abc');
    await mkdir(snapshot, { recursive: true });
    await mkdir(path.join(folder, 'models--some--model', 'refs'));
    await writeFile(path.join(folder, 'models--some--model', 'refs', 'main'), 'abc\n');
    await writeFile(
      path.join(snapshot, 'tokenizer.json'),
      await readFile(path.join(renderingsFolder, 'tokenizer.json')),
    );
    await writeFile(path.join(snapshot, 'generation_config.json'), '{"eos_token_id": [2, 5]}');
    await writeFile(path.join(snapshot, 'chat_template.jinja'), chatMl);
  });

  afterAll(() => rm(folder, { recursive: true }));

  test("are found in the hub's cache", async () => {
    const text = await ModelText.read('some/model', { HF_HUB_CACHE: folder });
    expect(text.endTokens).toEqual(new Set([2, 5]));
  });

  test('that are missing are an error with the command that downloads them', async () => {
    const missing = readModelFolder('other/model', { HF_HUB_CACHE: folder });
    await expect(missing).rejects.toMatchObject({ code: 'CONFIG', remedy: expect.stringContaining('hf download') });
  });

  test('that are damaged are named', async () => {
    const files = await readModelFolder(renderingsFolder, {});
    expect(() => new ModelText({ ...files, tokenizer: '{' })).toThrow(/tokenizer.json is not usable: it is not JSON/);
    expect(() => new ModelText({ ...files, tokenizer: '{}' })).toThrow(/tokenizer.json is not usable/);
    expect(() => new ModelText({ ...files, tokenizerConfig: '[' })).toThrow(/tokenizer_config.json is not usable/);
  });
});
