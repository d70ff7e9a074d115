import { respondWith, ScriptedModel } from '@agentlightning/core/testing';
import {
  Annotation,
  Command,
  END,
  entrypoint,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  task,
} from '@langchain/langgraph';
import type { ChatOpenAI } from '@langchain/openai';
import { describe, expect, test } from 'vitest';
import { modelOf, spanNamed, traced } from './traced.ts';

const question = { messages: [{ role: 'user', content: 'What is 2 + 3?' }] };
const nothing: typeof MessagesAnnotation.State = { messages: [] };

/** A graph with one node that calls the model. */
function thinker(model: ChatOpenAI, name?: string) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('think', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge(START, 'think')
    .addEdge('think', END);
  return graph.compile(name === undefined ? {} : { name });
}

describe('graphs', () => {
  test('a nested graph is a nested agent, named after itself or its node', async () => {
    await using model = await ScriptedModel.start(() => respondWith('5'));
    const llm = modelOf(model);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('draft', thinker(llm, 'writer'))
      .addNode('check', thinker(llm))
      .addNode('publish', async (state) => thinker(llm, 'publisher').invoke(state))
      .addEdge(START, 'draft')
      .addEdge('draft', 'check')
      .addConditionalEdges('check', () => 'publish', ['publish'])
      .compile({ name: 'press' });
    const { tree, spans } = await traced(() => graph.invoke(question));
    const inner = ['      think', '        chat tiny'];
    expect(tree).toEqual([
      'invoke_agent press',
      ...['  draft', '    invoke_agent writer', ...inner],
      ...['  check', '    invoke_agent check', ...inner],
      ...['  publish', '    invoke_agent publisher', ...inner],
    ]);
    const paths = spans
      .filter(({ name }) => name === 'chat tiny')
      .map((call) => call.attributes['agentlightning.agent.path']);
    expect(paths).toEqual(['press>writer', 'press>check', 'press>publisher']);
  });

  test('a node has its graph position as attributes', async () => {
    await using model = await ScriptedModel.start([respondWith('5')]);
    const { spans } = await traced(() => thinker(modelOf(model)).invoke(question));
    expect(spanNamed(spans, 'think').attributes).toMatchObject({
      'agentlightning.step.kind': 'step',
      'agentlightning.framework': 'langchain',
      'langgraph.node': 'think',
      'langgraph.step': 1,
      'langgraph.checkpoint_ns': expect.stringMatching(/^think:/),
      'langchain.run_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('an interrupt is not an error, and the resumed run is linked by the thread', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', async () => ({ messages: [{ role: 'user', content: String(interrupt({ ask: 'sure?' })) }] }))
      .addEdge(START, 'ask')
      .compile({ name: 'asker', checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: 'thread-7' } };
    const { tree, spans, result } = await traced(async () => {
      await graph.invoke(nothing, thread);
      return graph.invoke(new Command({ resume: 'yes' }), thread);
    });
    expect(result.messages.at(-1)?.content).toBe('yes');
    expect(tree).toEqual([
      'invoke_agent asker [interrupted]',
      '  ask [interrupted]',
      'invoke_agent asker [resumed]',
      '  ask',
    ]);
    expect(String(spans[0]?.attributes['langgraph.interrupts'])).toContain('sure?');
    for (const { attributes } of spans) expect(attributes['langgraph.thread_id']).toBe('thread-7');
    expect(spans.at(-1)?.attributes).toMatchObject({
      'agentlightning.link.0.key_match': 'langgraph.thread_id',
      'agentlightning.link.0.value_match': 'thread-7',
      'gen_ai.conversation.id': 'thread-7',
    });
  });

  test('a graph records the interrupts of all parallel nodes', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', async () => ({ messages: [String(interrupt('sure?'))] }))
      .addNode('check', async () => ({ messages: [String(interrupt('why?'))] }))
      .addEdge(START, 'ask')
      .addEdge(START, 'check')
      .compile({ name: 'asker', checkpointer: new MemorySaver() });
    const { spans } = await traced(() => graph.invoke(nothing, { configurable: { thread_id: 'thread-8' } }));
    const interrupts = JSON.parse(String(spanNamed(spans, 'invoke_agent asker').attributes['langgraph.interrupts']));
    expect(interrupts.map(({ value }: { value: string }) => value)).toEqual(['sure?', 'why?']);
    expect(String(spanNamed(spans, 'ask').attributes['langgraph.interrupts'])).not.toContain('why?');
  });

  test('a workflow records the interrupt of its task once', async () => {
    const ask = task('ask', async () => String(interrupt('sure?')));
    const flow = entrypoint({ name: 'flow', checkpointer: new MemorySaver() }, async () => ask());
    const { spans } = await traced(() => flow.invoke({}, { configurable: { thread_id: 'thread-9' } }));
    const interrupts = JSON.parse(String(spanNamed(spans, 'invoke_agent flow').attributes['langgraph.interrupts']));
    expect(interrupts).toMatchObject([{ value: 'sure?' }]);
  });

  test('a graph is interrupted by a breakpoint of a nested graph', async () => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode('pay', async () => nothing)
      .addEdge(START, 'pay')
      .compile({ name: 'payer', interruptBefore: ['pay'] });
    const outer = new StateGraph(MessagesAnnotation)
      .addNode('payer', inner)
      .addEdge(START, 'payer')
      .compile({ name: 'shop', checkpointer: new MemorySaver() });
    const { tree } = await traced(() => outer.invoke(nothing, { configurable: { thread_id: 'thread-10' } }));
    expect(tree).toEqual([
      'invoke_agent shop [interrupted]',
      '  payer [interrupted]',
      '    invoke_agent payer [interrupted]',
    ]);
  });

  test('a command for the parent graph is a hand-off, not an error', async () => {
    const child = new StateGraph(MessagesAnnotation)
      .addNode('decide', async () => new Command({ goto: 'billing', graph: Command.PARENT }))
      .addEdge(START, 'decide')
      .compile({ name: 'triage' });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('triage', child, { ends: ['billing'] })
      .addNode('billing', async () => nothing)
      .addEdge(START, 'triage')
      .compile({ name: 'desk' });
    const { tree } = await traced(() => graph.invoke(nothing));
    expect(tree).toEqual([
      'invoke_agent desk',
      '  triage',
      '    invoke_agent triage',
      '      decide',
      '        hand-off billing',
      '  billing',
    ]);
  });

  test('parallel nodes are separate steps of the graph with their own children', async () => {
    await using model = await ScriptedModel.start(({ messages }) => respondWith(`${messages.at(-1)?.content}!`));
    const llm = modelOf(model);
    const State = Annotation.Root({
      words: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode('shout', async (word: unknown) => ({ words: [(await llm.invoke(String(word))).text] }))
      .addConditionalEdges(START, () => ['a', 'b', 'c'].map((word) => new Send('shout', word)), ['shout'])
      .compile({ name: 'fan' });
    const { tree, result, spans } = await traced(() => graph.invoke({ words: [] }));
    expect(result.words.toSorted()).toEqual(['a!', 'b!', 'c!']);
    expect(tree).toEqual(['invoke_agent fan', ...['', '', ''].flatMap(() => ['  shout', '    chat tiny'])]);
    expect(new Set(spans.map(({ parentId }) => parentId)).size, 'no two nodes share a call').toBe(5);
  });

  test('workflows of the functional API are agents, and their tasks steps', async () => {
    await using model = await ScriptedModel.start(() => respondWith('5'));
    const llm = modelOf(model);
    const add = task('add', async (text: string) => (await llm.invoke(text)).text);
    const flow = entrypoint('sums', async (texts: string[]) => Promise.all(texts.map((text) => add(text))));
    const { tree, result } = await traced(() => flow.invoke(['2 + 3', '1 + 4']));
    expect(result).toEqual(['5', '5']);
    expect(tree.filter((line) => !line.endsWith('sums'))).toEqual(['  add', '    chat tiny', '  add', '    chat tiny']);
    expect(tree[0]).toBe('invoke_agent sums');
  });

  test('a retried node has its retry number', async () => {
    let tries = 0;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode(
        'flaky',
        async () => {
          tries += 1;
          if (tries === 1) throw new TypeError('not today');
          return nothing;
        },
        { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, retryOn: () => true, logWarning: false } },
      )
      .addEdge(START, 'flaky')
      .compile({ name: 'stubborn' });
    const { tree } = await traced(() => graph.invoke(nothing));
    expect(tree).toEqual(['invoke_agent stubborn', '  flaky [ERROR]', '  flaky [retry 1]']);
  });

  test('cancelling the stream of a graph stops it and records the received part', async () => {
    await using model = await ScriptedModel.start([
      respondWith('one two three', { pauseAfterChunks: 3, until: new Promise(() => {}) }),
    ]);
    const graph = thinker(modelOf(model), 'counter');
    const { tree, spans } = await traced(async () => {
      for await (const [piece] of await graph.stream(question, { streamMode: 'messages' })) {
        if (piece.text.includes('one')) break;
      }
      await model.waitForDisconnects(1);
    });
    expect(tree).toEqual(['invoke_agent counter [partial]', '  think [partial]', '    chat tiny [partial]']);
    const call = spanNamed(spans, 'chat tiny');
    expect(String(call.attributes['gen_ai.output.messages'])).toContain('one');
    expect(call.attributes['agentlightning.stream']).toBe(true);
  });

  test.for([
    ['no reason', undefined],
    ['an error as the reason', new TypeError('enough')],
    ['a string as the reason', 'enough'],
  ] as const)('an agent aborted with %s is partial, not failed', async ([, reason]) => {
    await using model = await ScriptedModel.start([respondWith('never', { until: new Promise(() => {}) })]);
    const controller = new AbortController();
    const graph = thinker(modelOf(model), 'slow');
    const { tree } = await traced(async () => {
      const running = graph.invoke(question, { signal: controller.signal });
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort(reason);
      await expect(running).rejects.toThrow();
      await model.waitForDisconnects(1);
    });
    expect(tree).toEqual(['invoke_agent slow [partial]', '  think [partial]', '    chat tiny [partial]']);
  });
});
