import { withRollout } from '@agentlightning/core';
import { aRolloutContext, callTool, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { receiveVisitor } from '../agent.ts';

test('opens the doors that the model calls for, in a short prompt without tools of Claude Code', async () => {
  await using model = await ScriptedModel.start([callTool('mcp__house__open_door', { door: 'K4' })]);
  const sink = new MemorySpanSink();
  const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: null };
  const opened = await withRollout(aRolloutContext({ sink, endpoint }), () => receiveVisitor('K4 is locked.'));
  expect(opened).toEqual(['K4']);
  expect(sink.spans.map(({ name }) => name)).toContain('execute_tool mcp__house__open_door');
  const { messages, system, tools } = model.requests[0]?.body ?? {};
  // The embedded model has a context of 2,048 bytes.
  expect(JSON.stringify([messages, system, tools]).length).toBeLessThan(1000);
});

test('a response without a tool call opens no door', async () => {
  await using model = await ScriptedModel.start([respondWith('unknown')]);
  const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: null };
  expect(await withRollout(aRolloutContext({ endpoint }), () => receiveVisitor('I am at K4.'))).toEqual([]);
});
