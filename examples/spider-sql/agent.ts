/**
 * Answers questions about a SQLite database: writes a query, runs it, checks the result, and rewrites the query when the check
 * fails.
 *
 * An ordinary agent on LangGraph. Nothing in this file is about training.
 *
 * @module
 */
import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { END, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { type DatabaseName, openDatabase, type QueryResult, query, schemas } from './databases.ts';

const questionState = z.object({
  question: z.string(),
  sql: z.string().default(''),
  result: z.string().default(''),
  verdict: z.string().default(''),
  rewrites: z.number().default(0),
});

type QuestionState = z.infer<typeof questionState>;

const model = new ChatOpenAI({ model: 'gpt-4.1-mini' });

/** Prompts of the nodes that call the model. */
export const prompts = {
  write: (schema: string, { question }: Pick<QuestionState, 'question'>) => [
    new SystemMessage(`Write SQL. ${schema}`),
    new HumanMessage(question),
  ],
  check: ({ sql, result }: Pick<QuestionState, 'sql' | 'result'>) => [
    new SystemMessage('Is this a result?'),
    new HumanMessage(`${sql}: ${result}`),
  ],
  rewrite: (schema: string, { question, sql, result }: Pick<QuestionState, 'question' | 'sql' | 'result'>) => [
    new SystemMessage(`Write SQL. ${schema}`),
    new HumanMessage(question),
    new AIMessage(sql),
    new HumanMessage(result),
  ],
};

/** The result as the model sees it: the values of the first row, or the error. */
export function resultText(result: QueryResult): string {
  const text = 'error' in result ? result.error : Object.values(result.rows[0] ?? {}).join(', ');
  return text.slice(0, 40) || 'nothing';
}

function sqlAgent(name: DatabaseName) {
  const database = openDatabase(name);
  const schema = schemas[name];
  return new StateGraph(questionState)
    .addNode('write', async (state) => ({ sql: (await model.invoke(prompts.write(schema, state))).text }))
    .addNode('execute', ({ sql }) => ({ result: resultText(query(database, sql)) }))
    .addNode('check', async (state) => ({ verdict: (await model.invoke(prompts.check(state))).text }))
    .addNode('rewrite', async (state) => ({
      sql: (await model.invoke(prompts.rewrite(schema, state))).text,
      rewrites: state.rewrites + 1,
    }))
    .addEdge(START, 'write')
    .addEdge('write', 'execute')
    .addEdge('execute', 'check')
    .addConditionalEdges('check', ({ verdict, rewrites }) => (verdict === 'no' && rewrites < 2 ? 'rewrite' : END), [
      'rewrite',
      END,
    ])
    .addEdge('rewrite', 'execute')
    .compile({ name: 'spider-sql' });
}

const agents = new Map<DatabaseName, ReturnType<typeof sqlAgent>>();

/** Answers a question with a query. */
export async function writeQuery(question: string, name: DatabaseName): Promise<string> {
  const agent = agents.get(name) ?? sqlAgent(name);
  agents.set(name, agent);
  const { sql } = await agent.invoke({ question });
  return sql;
}
