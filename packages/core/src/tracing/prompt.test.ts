import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { PromptTemplateResource } from '../store/resource.ts';
import { defineExamples } from './example-prompt.ts';
import { definePrompt, type TemplateVariables } from './prompt.ts';
import { escapeBraces, formatPrompt, promptVariables, strayBrace } from './prompt-template.ts';
import { type RolloutContext, withRollout } from './rollout-context.ts';

function fString(template: string): PromptTemplateResource {
  return { resourceType: 'prompt_template', template, engine: 'f-string' };
}

/** A rollout context that has only prompts. */
function rolloutWith(prompts: RolloutContext['prompts']): RolloutContext {
  return {
    rolloutId: 'ro-1',
    attemptId: 'at-1',
    mode: null,
    traceId: '0'.repeat(32),
    parentSpanId: null,
    agentName: null,
    sink: { append: () => undefined, flush: () => Promise.resolve() },
    endpoint: null,
    signal: new AbortController().signal,
    ...(prompts === undefined ? {} : { prompts }),
  };
}

describe('named prompt', () => {
  const answering = definePrompt('answering', 'Answer in {words} words: {question}');

  test('is the default template when the rollout has no prompt of this name', () => {
    expect(answering.format({ question: 'Why?', words: 3 })).toBe('Answer in 3 words: Why?');
    const other = rolloutWith({ other: fString('Other') });
    expect(withRollout(other, () => answering.format({ question: 'Why?', words: 3 }))).toBe('Answer in 3 words: Why?');
    expect(withRollout(rolloutWith(undefined), () => answering.current().template)).toBe(answering.template);
  });

  test('is the template of the current rollout, also after an await', async () => {
    const ask = async (): Promise<string> => {
      await Promise.resolve();
      return answering.format({ question: 'Why?', words: 1 });
    };
    const rollout = (template: string): RolloutContext => rolloutWith({ answering: fString(template) });
    const answers = await Promise.all([
      withRollout(rollout('One: {question} ({words})'), ask),
      withRollout(rollout('Two: {question} ({words})'), ask),
      ask(),
    ]);
    expect(answers).toEqual(['One: Why? (1)', 'Two: Why? (1)', 'Answer in 1 words: Why?']);
  });

  test('accepts exactly its variables, by type', () => {
    expect(answering.variables).toEqual(['question', 'words']);
    expectTypeOf(answering.variables).toEqualTypeOf<readonly ('question' | 'words')[]>();
    // @ts-expect-error -- a value is missing
    expect(() => answering.format({ question: 'Why?' })).toThrow(/words: is a variable of the prompt and has no value/);
    // @ts-expect-error -- an unknown variable
    answering.format({ question: 'Why?', words: 1, tone: 'kind' });
    expectTypeOf<TemplateVariables<'{{no}} {a} {"b": 1} {b}'>>().toEqualTypeOf<'a' | 'b'>();
    expectTypeOf<TemplateVariables<string>>().toEqualTypeOf<string>();
    expect(definePrompt('plain', 'Be kind.').format()).toBe('Be kind.');
  });

  test('rejects a stray brace and an invalid name', () => {
    expect(() => definePrompt('json', 'Reply {"a": {n}}')).toThrow(/single brace near .*write \{\{ or \}\}/);
    expect(() => definePrompt('my prompt', 'x')).toThrow(/"my prompt"/);
    expect(definePrompt('json', 'Reply {{"a": {n}}}').format({ n: 1 })).toBe('Reply {"a": 1}');
  });
});

describe('kinds of prompts', () => {
  const examples = defineExamples<{ ticket: string }>('shots', {
    example: ({ task, response }) => `Ticket: ${task.ticket}\nQueue: ${response}`,
  });

  test('a prompt is an instruction unless it is the description of a tool', () => {
    expect(definePrompt('plain', 'Be kind.').kind).toBe('instruction');
    const tracking = definePrompt('track', 'Finds a {thing}.', { kind: 'tool' });
    expectTypeOf(tracking.variables).toEqualTypeOf<readonly 'thing'[]>();
    const rollout = rolloutWith({ track: fString('Finds the {thing} by its number.') });
    expect([tracking.kind, tracking.format({ thing: 'parcel' })]).toEqual(['tool', 'Finds a parcel.']);
    expect(withRollout(rollout, () => tracking.format({ thing: 'parcel' }))).toBe('Finds the parcel by its number.');
  });

  test('examples are empty until a rollout has some, whatever characters these contain', () => {
    expect([examples.kind, examples.count, examples.format()]).toEqual(['examples', 4, '']);
    const rolled = { task: { ticket: 'Where is {it}?' }, reward: 1, response: 'shipping', toolCalls: [] };
    const text = examples.example(rolled);
    const rollout = rolloutWith({ shots: fString(escapeBraces(text)) });
    expect(withRollout(rollout, () => examples.format())).toBe('Ticket: Where is {it}?\nQueue: shipping');
  });

  test.each([0, 2.5, 33, Number.NaN])('examples reject the count %d', (count) => {
    const example = (): string => '';
    expect(() => defineExamples('shots', { example, count })).toThrow(/"shots".*count: must be a whole number/s);
  });
});

describe('templates', () => {
  const text = fc.string({ unit: fc.constantFrom('{', '}', 'a', 'b', ' ', '{a}', '{{', '}}'), maxLength: 12 });

  test('placeholders are replaced, and all other text is unchanged', () => {
    fc.assert(
      fc.property(text, (template) => {
        const prompt = fString(template);
        const values = promptVariables(prompt).map((name) => [name, name.toUpperCase()] as const);
        const filled = formatPrompt(prompt, Object.fromEntries(values));
        // Parsed from left to right, as in Python.
        let expected = '';
        for (let at = 0; at < template.length; ) {
          const part = /^(\{\{|\}\}|\{[ab]+\})/.exec(template.slice(at))?.[0];
          if (part === undefined) expected += template[at];
          else expected += part.length > 2 ? part.slice(1, -1).toUpperCase() : part[0];
          at += part === undefined ? 1 : part.length;
        }
        expect(filled).toBe(expected);
      }),
    );
  });

  test('a stray brace is reported by position', () => {
    expect([strayBrace('{a} {{x}} }'), strayBrace('{a}{{'), strayBrace('{ a }')]).toEqual([10, null, 0]);
  });

  test('a plain Jinja template is rendered; one that needs an engine is rejected', () => {
    const jinja = (template: string): PromptTemplateResource => ({ ...fString(template), engine: 'jinja' });
    expect(formatPrompt(jinja('{{ a }} and {{-b-}} {c}'), { a: 1, b: true })).toBe('1 and true {c}');
    expect(() => formatPrompt(jinja('{{ a | upper }}'), { a: 'x' })).toThrow(/render the jinja template yourself/);
    expect(() => formatPrompt(jinja('{% if a %}x{% endif %}'), {})).toThrow(/yourself/);
  });

  test.each(['jinja', 'poml'] as const)('100,000 unterminated placeholders of %s are searched once', (engine) => {
    const template = `{{ a }}${'{{b'.repeat(100_000)}}{{c}}`;
    expect(promptVariables({ ...fString(template), engine })).toEqual(['a', 'c']);
  });
});
