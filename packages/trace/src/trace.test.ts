import type { Span } from '@agentlightning/core';
import { linkAttributes } from '@agentlightning/core/spans';
import { aModelCallSpan, aRewardSpan, aSpan } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type TraceStep,
  terminalText,
  traceHtml,
  traceMermaid,
  traceSteps,
  traceSummary,
  traceText,
  walkSteps,
} from './index.ts';

/** A supervisor that asks an expert through a tool; every model call was seen by an adapter and by the gateway. */
function aTrace(): readonly Span[] {
  return [
    aSpan({ spanId: 'root', sequenceId: 1, name: 'agentlightning.rollout', startTimeMs: 0, endTimeMs: 100 }),
    anAgent('supervisor', { spanId: 'a', sequenceId: 2, parentId: 'root', startTimeMs: 1, endTimeMs: 90 }),
    aStep(
      'model-call',
      { spanId: 'm', sequenceId: 3, parentId: 'a', startTimeMs: 2, endTimeMs: 20 },
      {
        'gen_ai.request.model': 'tiny',
        'gen_ai.response.id': 'answer-1',
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'How many?' }] }]),
        'gen_ai.output.messages': JSON.stringify([
          { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'ask', arguments: '{"q":"bolts"}' }] },
        ]),
      },
    ),
    aSpan({
      spanId: 'capture',
      sequenceId: 4,
      parentId: 'root',
      name: 'openai.chat.completion',
      attributes: {
        'gen_ai.response.id': 'answer-1',
        prompt_token_ids: [1, 2, 3],
        response_token_ids: [4, 5],
        'agentlightning.trainable': true,
        'agentlightning.policy_version': 7,
      },
    }),
    aStep(
      'tool-call',
      { spanId: 't', sequenceId: 5, parentId: 'a', startTimeMs: 21, endTimeMs: 80 },
      {
        'gen_ai.tool.name': 'ask',
        'gen_ai.tool.call.arguments': '{"q":"bolts"}',
        'gen_ai.tool.call.result': '7',
      },
    ),
    { ...aRewardSpan(0.5, { spanId: 'r', sequenceId: 6, parentId: 'root', startTimeMs: 95, endTimeMs: 95 }) },
  ];
}

function anAgent(name: string, fields: Partial<Span>): Span {
  return aStep('agent', fields, { 'gen_ai.agent.name': name, 'agentlightning.agent.path': name });
}

function aStep(kind: string, fields: Partial<Span>, attributes: Span['attributes']): Span {
  return aSpan({ ...fields, attributes: { 'agentlightning.step.kind': kind, ...attributes } });
}

function count(steps: readonly TraceStep[]): number {
  return steps.reduce((sum, step) => sum + 1 + count(step.children), 0);
}

describe('the steps of a trace', () => {
  test('the two records of a model call are one step, with the place of one and the tokens of the other', () => {
    const [root] = traceSteps(aTrace());
    const agent = root?.children[0];
    expect(root?.children.map(({ title }) => title)).toEqual(['supervisor', 'reward']);
    expect(agent?.children.map(({ kind }) => kind)).toEqual(['model-call', 'tool-call']);
    expect(agent?.children[0]).toMatchObject({
      title: 'tiny',
      tokens: { prompt: 3, response: 2, policyVersion: 7, newestPolicyVersion: 7, isTrainable: true },
      inputMessages: [{ role: 'user', parts: [{ type: 'text', text: 'How many?' }] }],
      outputMessages: [{ role: 'assistant', parts: [{ type: 'tool-call', text: 'ask({"q":"bolts"})' }] }],
    });
  });

  test('a model call has the name of the model that responded, with the requested one beside it', () => {
    const spans = aTrace().map((span) =>
      span.spanId === 'capture'
        ? { ...span, attributes: { ...span.attributes, 'gen_ai.response.model': 'router/tiny-1b' } }
        : span,
    );
    const steps = traceSteps(spans);
    expect(steps[0]?.children[0]?.children[0]).toMatchObject({ title: 'router/tiny-1b', requestedModel: 'tiny' });
    expect(traceText(steps)).toContain('model router/tiny-1b  requested as tiny  ');
    expect(traceHtml(steps)).toContain('requested as tiny');
    expect(traceText(traceSteps(aTrace()))).not.toContain('requested as');
  });

  test('every span is drawn once, whatever the parents are', () => {
    const parents = fc.array(fc.option(fc.integer({ min: 0, max: 12 }), { nil: null }), { maxLength: 12 });
    fc.assert(
      fc.property(parents, (list) => {
        const spans = list.map((parent, index) =>
          aSpan({ spanId: `s${index}`, sequenceId: index + 1, parentId: parent === null ? null : `s${parent}` }),
        );
        expect(count(traceSteps(spans))).toBe(spans.length);
      }),
    );
  });

  test('how a training step used the attempt is not drawn', () => {
    const training = aSpan({ spanId: 'training', sequenceId: 99, name: 'agentlightning.training' });
    expect(traceSteps([...aTrace(), training])).toEqual(traceSteps(aTrace()));
  });

  test('ten thousand steps under one are drawn', () => {
    const spans = Array.from({ length: 10_000 }, (_, index) =>
      aSpan({ spanId: `s${index}`, sequenceId: index + 1, parentId: index === 0 ? null : 's0' }),
    );
    expect(traceText(traceSteps(spans)).split('\n')).toHaveLength(10_000);
  });
});

describe('10,000 spans, each the child of the one before', () => {
  const depth = 10_000;
  // Children come first: the order in which nested spans end.
  const steps = traceSteps(
    Array.from({ length: depth }, (_, index) =>
      aSpan({ spanId: `s${index}`, sequenceId: depth - index, parentId: index === 0 ? null : `s${index - 1}` }),
    ).reverse(),
  );

  test('are one tree', () => {
    expect(walkSteps(steps).at(-1)).toMatchObject({
      depth: depth - 1,
      step: { spanId: `s${depth - 1}`, children: [] },
    });
    expect(traceSummary(steps)).toBe('0 model calls · 0 tool calls · 0 response tokens · no reward');
  });

  test('are lines of bounded length that name their level', () => {
    const lines = traceText(steps).split('\n');
    expect(lines).toHaveLength(depth);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(200);
    expect(lines.at(-1)).toContain(`⋯${depth - 1} └─ #1`);
  });

  test('are a flowchart', () => {
    const chart = traceMermaid(steps);
    expect(chart.match(/ --> /g)).toHaveLength(depth - 1);
    expect(chart).toContain(`  s${depth - 2} --> s${depth - 1}\n`);
  });

  test('are a page whose rows are not nested', () => {
    const page = traceHtml(steps);
    expect(page.match(/<section /g)).toHaveLength(depth);
    expect(page).not.toMatch(/<section (?:(?!<\/section>)[\s\S])*<section /);
    expect(page).toContain(`data-depth="${depth - 1}"`);
  });
});

describe('the totals of a trace', () => {
  const requesting = (id: string | null, name: string): Span['attributes'] => ({
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'tool_call', id, name, arguments: '{}' }] },
    ]),
  });

  test('count tool calls that only model responses have', () => {
    const spans = ['one', 'two'].map((id, index) =>
      aStep('model-call', { spanId: id, sequenceId: index + 1 }, requesting(id, 'look_up')),
    );
    expect(traceSummary(traceSteps(spans))).toContain('2 model calls · 2 tool calls');
  });

  test('count a tool call once that both a response and an adapter have, by its id or its name', () => {
    const spans = [
      aStep('model-call', { spanId: 'a', sequenceId: 1 }, requesting('call-1', 'look_up')),
      aStep('tool-call', { spanId: 'b', sequenceId: 2 }, { 'gen_ai.tool.name': 'x', 'gen_ai.tool.call.id': 'call-1' }),
      aStep('model-call', { spanId: 'c', sequenceId: 3 }, requesting('call-2', 'add')),
      aStep('tool-call', { spanId: 'd', sequenceId: 4 }, { 'gen_ai.tool.name': 'add' }),
      aStep('tool-call', { spanId: 'e', sequenceId: 5 }, { 'gen_ai.tool.name': 'never requested' }),
    ];
    expect(traceSummary(traceSteps(spans))).toContain('3 tool calls');
  });

  test('have the primary value of the last reward, not another dimension', () => {
    const value = (name: string, value: number, index: number) => ({
      [`agentlightning.reward.${index}.name`]: name,
      [`agentlightning.reward.${index}.value`]: value,
    });
    const spans = [
      aRewardSpan(0.25, { spanId: 'a', sequenceId: 1 }),
      aSpan({
        spanId: 'b',
        sequenceId: 2,
        name: 'agentlightning.annotation',
        attributes: { ...value('primary', 1, 0), ...value('brevity', 0.5, 1) },
      }),
    ];
    expect(traceSummary(traceSteps(spans))).toMatch(/reward 1$/);
  });
});

describe('an exception', () => {
  const stacktrace = [
    'RangeError: too hard',
    '    at validate (/home/me/agent/node_modules/zod/index.js:7:1)',
    '    at async answer (file:///home/me/agent/src/answer.ts:12:9)',
    '    at async run (/home/me/agent/src/run.ts:3:5)',
  ].join('\n');
  const status = { code: 'ERROR', message: 'too hard' } as const;
  const attributes = { 'exception.message': 'too hard', 'exception.stacktrace': stacktrace };

  test('is shown with file and line of the agent, from a span or from an event', () => {
    const thrown = aSpan({ spanId: 'a', name: 'agentlightning.exception', status, attributes });
    const failed = aSpan({ spanId: 'b', name: 'plan', status, events: [{ name: 'exception', timeMs: 1, attributes }] });
    for (const span of [thrown, failed]) {
      expect(traceText(traceSteps([span]))).toContain('ERROR too hard at /home/me/agent/src/answer.ts:12:9');
      expect(traceHtml(traceSteps([span]))).toContain('/home/me/agent/src/run.ts:3:5');
    }
  });

  test('of Python has its file and line too', () => {
    const python = 'Traceback (most recent call last):\n  File "/home/me/agent.py", line 8, in run\nValueError: no';
    const span = aSpan({ status, attributes: { 'exception.stacktrace': python } });
    expect(traceText(traceSteps([span]))).toContain('ERROR too hard at /home/me/agent.py:8');
  });
});

describe('a trace as text', () => {
  test('is a tree of lines with what each step did', () => {
    expect(traceText(traceSteps(aTrace()))).toMatchInlineSnapshot(`
      "└─ #1  rollout  100 ms
         ├─ #2  agent supervisor  89 ms
         │  ├─ #3  model tiny  “ask({"q":"bolts"})”  3 → 2 tokens  policy v7  18 ms
         │  └─ #5  tool ask  ({"q":"bolts"}) → 7  59 ms
         └─ #6  reward  primary 0.5"
    `);
  });

  test('has the oldest and the newest policy version of a response', () => {
    const call = aModelCallSpan({ responsePolicyVersions: [3, 5] });
    expect(traceText(traceSteps([call]))).toContain('policy v3–v5');
  });

  test('cuts lines at the width that is asked for', () => {
    const widths = traceText(traceSteps(aTrace()), { width: 30 })
      .split('\n')
      .map((line) => [...line].length);
    expect(Math.max(...widths)).toBe(30);
  });

  test('cannot command the terminal, nor turn the direction of what follows', () => {
    const evil = 'a\u001b[2J\u009b31m\u0007\rb\u202ec\td';
    const attributes = { 'agentlightning.step.kind': 'tool-call', 'gen_ai.tool.call.result': evil };
    const spans = [aSpan({ name: evil, attributes, status: { code: 'ERROR', message: evil } })];
    const text = traceText(traceSteps(spans));
    expect(text).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(text).toContain('a\ufffd[2J\ufffd31m\ufffd b\ufffdc d');
    expect(terminalText('one\n\ttwo\u001b')).toBe('one\n\ttwo\ufffd');
  });

  test('says what became of steps that did not end well', () => {
    const failed = aSpan({ name: 'plan', status: { code: 'ERROR', message: 'no\nplan' }, startTimeMs: null });
    const open = aSpan({ name: 'wait', sequenceId: 2, attributes: { 'agentlightning.abandoned': true } });
    const text = traceText(traceSteps([failed, open]));
    expect(text).toContain('plan  ERROR no plan');
    expect(text).toContain('still open when the attempt ended');
  });
});

describe('a trace as Mermaid', () => {
  test('is a flowchart whose texts cannot break out of their nodes', () => {
    const chart = traceMermaid(traceSteps([aSpan({ name: 'a"] --> b[" %% ; end' })]));
    expect(chart.split('\n')[1]).toBe('  s0["a#34;#93; --#62; b#91;#34; #37;#37; #59; end"]:::step');
  });

  test('has a text in every node, which Mermaid requires', () => {
    const chart = traceMermaid(traceSteps([aSpan({ name: ' ' })]));
    expect(chart.split('\n')[1]).toBe('  s0["step"]:::step');
  });

  test('has a node a step and an edge a parent', () => {
    const chart = traceMermaid(traceSteps(aTrace()));
    expect(chart.match(/^ {2}s\d+ --> s\d+$/gm)).toHaveLength(4);
    expect(chart.match(/^ {2}s\d+[^ ]/gm)).toHaveLength(5);
  });
});

describe('a trace as a page', () => {
  test('holds messages, tokens and rewards, and loads nothing', () => {
    const page = traceHtml(traceSteps(aTrace()), { title: 'ro-1', facts: { task: '{"q":"bolts"}' } });
    for (const part of ['How many?', '3 → 2 tokens', 'policy v7', 'primary 0.5', '{&quot;q&quot;:&quot;bolts&quot;}']) {
      expect(page).toContain(part);
    }
    expect(page).not.toMatch(/(src|href)=/);
  });

  test('cuts long texts, wherever they are, and says so', () => {
    const attributes = {
      'agentlightning.step.kind': 'tool-call',
      'gen_ai.tool.call.arguments': 'a'.repeat(30_000),
      'gen_ai.tool.call.result': 'b'.repeat(30_000),
    };
    const span = aSpan({ attributes, status: { code: 'ERROR', message: 'c'.repeat(30_000) } });
    const page = traceHtml(traceSteps([span]));
    for (const letter of 'abc') expect(page).not.toContain(letter.repeat(20_001));
    expect(page.match(/… \(30,000 characters in all\)/g)).toHaveLength(5);
  });

  test('looks at each step a few times, however many are beside it, as spans without their parents are', () => {
    let reads = 0;
    const spans = Array.from({ length: 1000 }, (_, index) => aSpan({ spanId: `s${index}`, parentId: 'lost' }));
    const steps = traceSteps(spans).map((step) => {
      const get = (): number | null => {
        reads += 1;
        return step.startTimeMs;
      };
      return Object.defineProperty({ ...step }, 'startTimeMs', { get });
    });
    expect(traceHtml(steps).match(/<section /g)).toHaveLength(1000);
    expect(reads).toBeGreaterThan(0);
    expect(reads / steps.length).toBeLessThan(10);
  });

  test('decodes the names in an agent path', () => {
    const attributes = { 'agentlightning.step.kind': 'step', 'agentlightning.agent.path': 'a %3E b>50%25' };
    const steps = traceSteps([aSpan({ attributes })]);
    expect(steps[0]?.agentPath).toEqual(['a > b', '50%']);
  });

  test('shows what a trace says as text, never as HTML', () => {
    const evil = '<script>alert("x")</script>';
    const attributes = {
      ...linkAttributes({ [evil]: evil }),
      'gen_ai.tool.name': evil,
      'agentlightning.step.kind': 'tool-call',
    };
    const page = traceHtml(traceSteps([aSpan({ attributes, status: { code: 'ERROR', message: evil } })]), {
      title: evil,
      facts: { [evil]: evil },
    });
    expect(page.match(/<script>/g)).toHaveLength(1);
    expect(page).not.toContain('alert("x")');
  });
});
