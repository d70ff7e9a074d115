import { isDeepStrictEqual } from 'node:util';
import { instrumentLangChain } from '@agentlightning/langchain';
import { defineConfig } from '@agentlightning/trainer';
import { z } from 'zod';
import { writeQuery } from './agent.ts';
import { databaseName, openDatabase, query } from './databases.ts';
import { demonstration, replay } from './demonstration.ts';

instrumentLangChain();
// Model calls are sent to the model in training, which needs no key.
process.env['OPENAI_API_KEY'] ??= 'none';

/** A question about a database, and a query that answers it. */
export const questionTask = z.object({ database: databaseName, question: z.string(), sql: z.string() });

export type QuestionTask = z.infer<typeof questionTask>;

const databases = { cars: openDatabase('cars'), lands: openDatabase('lands') };

/** The agent as the trainer runs it: 1 for a query with the rows of the task's query (execution accuracy), 0 for any other. */
async function agent({ database, question, sql }: QuestionTask): Promise<number> {
  const written = query(databases[database], await writeQuery(question, database));
  return isDeepStrictEqual(valuesOf(written), valuesOf(query(databases[database], sql))) ? 1 : 0;
}

/** The rows without the names of their columns, which depend on the wording of a query; null for an error. */
function valuesOf(result: ReturnType<typeof query>): readonly unknown[][] | null {
  return 'error' in result ? null : result.rows.map((row) => Object.values(row));
}

/** Imitation of demonstrations, then reinforcement learning. */
export default defineConfig({
  run: { name: 'spider-sql' },
  agent,
  tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl', schema: questionTask },
  runtime: { type: 'embedded', model: 'tiny-reader' },
  stages: [
    {
      agent: replay,
      tasks: { train: 'tasks/demonstrations.jsonl', schema: demonstration },
      algorithm: {
        type: 'sft',
        learningRate: { schedule: 'linear', peak: 2e-3, warmupSteps: 10 },
        optimizer: { beta2: 0.98 },
        minibatches: 2,
      },
      steps: 150,
      tasksPerStep: 24,
    },
    {
      algorithm: {
        type: 'grpo',
        nodes: ['write', 'rewrite'],
        groupSize: 8,
        learningRate: 5e-4,
        optimizer: { beta2: 0.99 },
        loss: 'importance_sampling',
        entropyCoefficient: 0.005,
        dropConstantGroups: true,
      },
      steps: 24,
      stop: { reward: 0.95 },
    },
  ],
  evaluation: { rolloutsPerTask: 2 },
  sampling: { temperature: 1, maxTokens: 96 },
  tasksPerStep: 16,
  agents: { concurrency: 64 },
});
