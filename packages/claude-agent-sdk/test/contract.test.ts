/**
 * The adapter contract with the Claude Code program of the SDK: one process per query.
 *
 * @module-tag long
 */
import { describeAdapterContract } from '@agentlightning/core/contracts';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { traceQuery } from '../src/index.ts';
import { askSceneAgent, sceneModel } from './scene-agent.ts';

// A wrapped function has no undo: the scenes use it until then.
let redirect: boolean | null = null;

describeAdapterContract({
  name: 'claude-agent-sdk 0.3',
  api: 'messages',
  concurrentRollouts: 4,
  instrument: (options) => {
    redirect = options.redirect;
    return () => {
      redirect = null;
    };
  },
  createModel: sceneModel,
  ask: (agent, ask) => {
    const isRedirecting = redirect;
    const wrap = (agentName: string): typeof query =>
      isRedirecting === null ? query : traceQuery(query, { agentName, redirect: isRedirecting });
    return askSceneAgent(wrap, agent, ask);
  },
  cannot: {
    steps: 'the SDK reports messages, not turns',
    'call-place': 'the headers of a Claude Code process are the same for all its calls',
    'tool-definitions': 'the SDK does not report the definitions of tools, which the gateway records',
    'stream-error': 'Claude Code repeats a request whose stream fails',
    'multi-turn': 'conversations are sessions of Claude Code, which cannot be given as messages',
    'many-choices': 'the Messages API has one choice',
    'cached-response': 'the SDK has no cache',
    'responses-api': 'Claude Code uses the Messages API',
    embeddings: 'the SDK has no embeddings',
    images: 'images require a streaming input: see queries.test.ts',
  },
});
