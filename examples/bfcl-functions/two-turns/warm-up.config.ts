import { defineConfig, replayDemonstration } from '@agentlightning/trainer';
import { warmUp } from '../warm-up.config.ts';
import { twoTurnCaller } from './agent.ts';
import config from './agl.config.ts';
import { twoTurnConversation } from './conversation.ts';

/** Supervised fine-tuning on right conversations of training questions. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions warm-up in two turns' },
  agent: (task, { mode }) => (mode === 'train' ? replayDemonstration(twoTurnConversation(task)) : twoTurnCaller(task)),
  ...warmUp,
  evaluation: { tasks: 48 },
});
