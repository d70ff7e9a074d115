import { describe, expect, test } from 'vitest';
import { agentLightningAttributes, genAiAttributes } from '../../spans/span-attributes.ts';
import { callTool, respondWith } from '../scripted-model-step.ts';
import type { AdapterUnderTest, SceneTool } from './adapter-under-test.ts';
import { sceneApi } from './scene-api.ts';
import { SceneStage } from './scene-stage.ts';
import { messagesOf, partsOf, type SceneTrace, textOf } from './scene-trace.ts';

/** A tool that adds two numbers. */
export const addTool: SceneTool = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { a: 'number', b: 'number' },
  run: ({ a, b }) => Promise.resolve(String(Number(a) + Number(b))),
};

/** Scenes of single agents and agent teams. */
export function describeAgentScenes<TModel>(adapter: AdapterUnderTest<TModel>): void {
  describe('agents', () => {
    describePlainCall(adapter);
    describeTools(adapter);
    describeSubAgents(adapter);
    describeOutputs(adapter);
  });
}

/** Whether every model call and tool call is within a step of an agent, as far as the adapter supports steps. */
export function expectSteps<TModel>(adapter: AdapterUnderTest<TModel>, trace: SceneTrace): void {
  const kinds = adapter.cannot.steps === undefined ? ['agent', 'step'] : ['agent'];
  for (const call of [...trace.modelCalls, ...trace.toolCalls]) {
    expect(trace.kindsAround(call), `around ${call.name} in\n${trace}`).toEqual(expect.arrayContaining(kinds));
  }
}

function describePlainCall<TModel>(adapter: AdapterUnderTest<TModel>): void {
  const { idPrefix, hasFinishReason } = sceneApi(adapter);

  test('a plain call is recorded under its agent, with messages, id and usage', async () => {
    await using stage = await SceneStage.open(adapter, [respondWith('It is 5.')]);
    const { reply, trace, rollout } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
    expect(reply).toBe('It is 5.');
    expect(trace.agents.map(({ name }) => name)).toEqual(['invoke_agent helper']);
    expect(trace.modelCalls, `model calls in\n${trace}`).toHaveLength(1);
    const [call] = trace.modelCalls;
    expect(call?.status.code).not.toBe('ERROR');
    expect(call?.attributes).toMatchObject({
      [genAiAttributes.operationName]: 'chat',
      [genAiAttributes.requestModel]: 'tiny',
      [genAiAttributes.responseId]: `${idPrefix}0`,
      ...(hasFinishReason ? { [genAiAttributes.responseFinishReasons]: ['stop'] } : {}),
      [genAiAttributes.usageOutputTokens]: 'It is 5.'.length + 1,
      [genAiAttributes.agentName]: 'helper',
      'agent.name': 'helper',
      [agentLightningAttributes.agentPath]: 'helper',
    });
    expect(call?.attributes[genAiAttributes.usageInputTokens]).toBeGreaterThan(20);
    expect(messagesOf(call, 'input').map(({ role }) => role)).toEqual(['system', 'user']);
    expect(textOf(call, 'input')).toBe('Be brief.What is 2 + 3?');
    expect(textOf(call, 'output')).toBe('It is 5.');
    expectSteps(adapter, trace);
    stage.expectAtGateway(rollout, trace);
  });

  test('every turn of a conversation is an agent invocation in one trace', async (context) => {
    context.skip(adapter.cannot['multi-turn'] !== undefined, adapter.cannot['multi-turn']);
    await using stage = await SceneStage.open(adapter, [respondWith('5'), respondWith('10')]);
    const agent = stage.agent();
    const rollout = stage.rollout();
    await rollout.run(async () => {
      const first = await stage.ask(agent, { prompt: 'What is 2 + 3?' });
      const history = [
        { role: 'user' as const, content: 'What is 2 + 3?' },
        { role: 'assistant' as const, content: first },
      ];
      await stage.ask(agent, { prompt: 'And twice that?', history });
    });
    const trace = rollout.end();
    expect(trace.agents.map(({ parentId }) => parentId)).toEqual([null, null]);
    expect(trace.modelCalls.map((call) => call.attributes[genAiAttributes.responseId])).toEqual([
      `${idPrefix}0`,
      `${idPrefix}1`,
    ]);
    expect(messagesOf(trace.modelCalls[1], 'input').map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
    stage.expectAtGateway(rollout, trace);
  });
}

function describeTools<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('parallel tool calls are recorded with id, arguments and result', async (context) => {
    context.skip(adapter.cannot['parallel-tools'] !== undefined, adapter.cannot['parallel-tools']);
    const toolCalls = [
      { id: 'call_x', name: 'add', arguments: { a: 2, b: 3 } },
      { id: 'call_y', name: 'add', arguments: { a: 4, b: 5 } },
    ];
    await using stage = await SceneStage.open(adapter, [respondWith('', { toolCalls }), respondWith('5 and 9')]);
    const agent = stage.agent({ tools: [addTool] });
    const { reply, trace, rollout } = await stage.play(agent, { prompt: 'Add twice.' });
    expect(reply).toBe('5 and 9');
    expect(trace.modelCalls).toHaveLength(2);
    const [first, second] = trace.modelCalls;
    if (adapter.cannot['tool-definitions'] === undefined) {
      expect(String(first?.attributes[genAiAttributes.toolDefinitions])).toContain('Adds two numbers.');
    }
    expect(partsOf(first, 'output').map(({ type, id, name }) => ({ type, id, name }))).toEqual([
      { type: 'tool_call', id: 'call_x', name: 'add' },
      { type: 'tool_call', id: 'call_y', name: 'add' },
    ]);
    expect(partsOf(second, 'input').filter(({ type }) => type === 'tool_call_response')).toMatchObject([
      { id: 'call_x' },
      { id: 'call_y' },
    ]);
    expectSteps(adapter, trace);
    stage.expectAtGateway(rollout, trace);
    if (adapter.cannot['tool-calls'] !== undefined) return;
    const ran = trace.toolCalls.map(({ name, status, attributes }) => ({
      name,
      isError: status.code === 'ERROR',
      id: attributes[genAiAttributes.toolCallId],
      toolName: attributes[genAiAttributes.toolName],
      input: JSON.parse(String(attributes[genAiAttributes.toolCallArguments])),
      result: attributes[genAiAttributes.toolCallResult],
      agent: attributes[genAiAttributes.agentName],
    }));
    const same = { name: 'execute_tool add', isError: false, toolName: 'add', agent: 'helper' };
    expect(ran.toSorted((left, right) => String(left.id).localeCompare(String(right.id)))).toEqual([
      { ...same, id: 'call_x', input: { a: 2, b: 3 }, result: '5' },
      { ...same, id: 'call_y', input: { a: 4, b: 5 }, result: '9' },
    ]);
  });

  test('a tool error is recorded on the tool call and not on the agent', async (context) => {
    context.skip(adapter.cannot['tool-error'] !== undefined, adapter.cannot['tool-error']);
    await using stage = await SceneStage.open(adapter, [callTool('add', { a: 1, b: 2 }), respondWith('I cannot add.')]);
    const run = (): Promise<string> => Promise.reject(new TypeError('the adder is broken'));
    const agent = stage.agent({ tools: [{ ...addTool, run }] });
    const { reply, trace, rollout } = await stage.play(agent, { prompt: 'Add.' });
    expect(reply).toBe('I cannot add.');
    expect(trace.modelCalls).toHaveLength(2);
    stage.expectAtGateway(rollout, trace);
    if (adapter.cannot['tool-calls'] !== undefined) return;
    const [tool] = trace.toolCalls;
    expect(tool?.status.code).toBe('ERROR');
    expect(JSON.stringify([tool?.status, tool?.events])).toContain('the adder is broken');
    expect(trace.agents[0]?.status.code).not.toBe('ERROR');
  });
}

function describeSubAgents<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('an agent used as a tool is a child of the tool call and part of the agent path', async (context) => {
    context.skip(adapter.cannot['sub-agent'] !== undefined, adapter.cannot['sub-agent']);
    await using stage = await SceneStage.open(adapter, [
      callTool('ask_expert', { question: 'What is 2 + 3?' }),
      callTool('add', { a: 2, b: 3 }),
      respondWith('It is 5.'),
      respondWith('The expert says 5.'),
    ]);
    const expert = stage.agent({ name: 'expert', instructions: 'You can add.', tools: [addTool] });
    const boss = stage.agent({ name: 'boss', instructions: 'Ask the expert.', subAgents: [expert] });
    const { reply, trace, rollout } = await stage.play(boss, { prompt: 'How much?' });
    expect(reply).toBe('The expert says 5.');
    expect(trace.modelCalls.map((call) => call.attributes[agentLightningAttributes.agentPath])).toEqual([
      'boss',
      'boss>expert',
      'boss>expert',
      'boss',
    ]);
    expect(trace.modelCalls.map((call) => trace.agentAround(call))).toEqual(['boss', 'expert', 'expert', 'boss']);
    const inner = trace.agents.find(({ name }) => name === 'invoke_agent expert');
    const names = inner === undefined ? [] : trace.around(inner).map(({ name }) => name);
    expect(names).toContain('invoke_agent boss');
    stage.expectAtGateway(rollout, trace);
    // Some frameworks send instructions as a string, others as a list of parts.
    expect(stage.model.requests.map(({ messages }) => JSON.stringify(messages[0]?.content))).toEqual(
      ['Ask the expert.', 'You can add.', 'You can add.', 'Ask the expert.'].map((text) =>
        expect.stringContaining(text),
      ),
    );
    if (adapter.cannot['tool-calls'] !== undefined) return;
    expect(names).toContain('execute_tool ask_expert');
    const [asked, added] = trace.toolCalls;
    expect([asked, added].map((tool) => tool && trace.agentAround(tool))).toEqual(['boss', 'expert']);
    expect(asked?.attributes[genAiAttributes.toolCallResult]).toContain('It is 5.');
  });

  test('concurrent agents used as tools are isolated', async (context) => {
    context.skip(adapter.cannot['sub-agent'] !== undefined, adapter.cannot['sub-agent']);
    const toolCalls = ['expert', 'critic'].map((name) => ({ name: `ask_${name}`, arguments: { question: 'Well?' } }));
    // Responses depend on the instructions, because the order of the calls is undefined.
    await using stage = await SceneStage.open(adapter, ({ messages }) => {
      const instructions = JSON.stringify(messages[0]?.content);
      if (!instructions.includes('Ask both.')) return respondWith(`I am the ${instructions.match(/expert|critic/)}.`);
      return messages.some(({ role }) => role === 'tool')
        ? respondWith('Both have spoken.')
        : respondWith('', { toolCalls });
    });
    const subAgents = ['expert', 'critic'].map((name) => stage.agent({ name, instructions: `You are the ${name}.` }));
    const boss = stage.agent({ name: 'boss', instructions: 'Ask both.', subAgents });
    const { reply, trace, rollout } = await stage.play(boss, { prompt: 'What do they say?' });
    expect(reply).toBe('Both have spoken.');
    expect(trace.modelCalls).toHaveLength(4);
    for (const name of ['expert', 'critic']) {
      const own = trace.modelCalls.filter((call) => textOf(call, 'output') === `I am the ${name}.`);
      expect(own.map((call) => call.attributes[agentLightningAttributes.agentPath])).toEqual([`boss>${name}`]);
      expect(own.map((call) => trace.agentAround(call))).toEqual([name]);
      const tools = own.flatMap((call) => trace.around(call)).filter((span) => trace.toolCalls.includes(span));
      const isSeen = adapter.cannot['tool-calls'] === undefined;
      expect(tools.map((tool) => tool.name)).toEqual(isSeen ? [`execute_tool ask_${name}`] : []);
    }
    stage.expectAtGateway(rollout, trace);
  });
}

function describeOutputs<TModel>(adapter: AdapterUnderTest<TModel>): void {
  test('structured output is recorded unchanged', async (context) => {
    context.skip(adapter.cannot['structured-output'] !== undefined, adapter.cannot['structured-output']);
    const weather = { city: 'Paris', degrees: 21 };
    // Frameworks request it as a response format, or as a call of a framework-defined tool.
    await using stage = await SceneStage.open(adapter, [
      ({ body }) => {
        const tool = Array.isArray(body.tools) ? body.tools.at(-1) : undefined;
        return tool === undefined
          ? respondWith(JSON.stringify(weather))
          : callTool(tool.function?.name ?? tool.name, weather);
      },
    ]);
    const agent = stage.agent({ output: { city: 'string', degrees: 'number' } });
    const { reply, trace, rollout } = await stage.play(agent, { prompt: 'The weather?' });
    expect(JSON.parse(reply)).toEqual(weather);
    expect(trace.modelCalls).toHaveLength(1);
    expect(JSON.stringify(partsOf(trace.modelCalls[0], 'output'))).toContain('Paris');
    stage.expectAtGateway(rollout, trace);
  });

  test('reasoning is a separate part of the output message', async (context) => {
    context.skip(adapter.cannot.reasoning !== undefined, adapter.cannot.reasoning);
    await using stage = await SceneStage.open(adapter, [respondWith('5', { reasoning: 'Two and three.' })]);
    const { trace } = await stage.play(stage.agent(), { prompt: 'What is 2 + 3?' });
    expect(partsOf(trace.modelCalls[0], 'output')).toEqual([
      { type: 'reasoning', content: 'Two and three.' },
      { type: 'text', content: '5' },
    ]);
  });
}
