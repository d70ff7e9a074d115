/**
 * The mail room of a house with parcel lockers. A letter that asks for a parcel is answered with its locker; any other is
 * left to a person.
 *
 * An ordinary agent on LangGraph: its first node chooses the branch. Nothing in this file is about training.
 *
 * @module
 */
import { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { type ToolRuntime, tool } from 'langchain';
import { z } from 'zod';

type Mail = typeof MessagesAnnotation.State;

/** Context of the tools: the locker of each parcel. */
const house = z.object({ lockers: z.record(z.string(), z.number()) });

const findLocker = tool(
  ({ parcel }, { context }: ToolRuntime<unknown, typeof house>) => String(context.lockers[parcel] ?? 'no such parcel'),
  {
    name: 'find_locker',
    description: 'Tells in which locker a parcel lies.',
    schema: z.object({ parcel: z.string().default('') }),
  },
);

const callPerson = tool(({ parcel }) => `A person will see to ${parcel}.`, {
  name: 'call_person',
  description: 'Leaves a letter about a parcel to a person.',
  schema: z.object({ parcel: z.string().default('') }),
});

const model = new ChatOpenAI({ model: 'gpt-4.1-mini' }).bindTools([findLocker, callPerson]);

async function askModel({ messages }: Mail): Promise<Partial<Mail>> {
  return { messages: [await model.invoke([{ role: 'system', content: 'You sort mail.' }, ...messages])] };
}

/** The branch that the model has chosen; undefined when it answered directly. */
function chosenBranch({ messages }: Mail): 'lockers' | 'person' | typeof END {
  const last = messages.at(-1);
  const call = AIMessage.isInstance(last) ? last.tool_calls?.[0] : undefined;
  if (call === undefined) return END;
  return call.name === findLocker.name ? 'lockers' : 'person';
}

const mailRoom = new StateGraph(MessagesAnnotation, house)
  .addNode('sort', askModel)
  .addNode('lockers', new ToolNode([findLocker]))
  .addNode('person', new ToolNode([callPerson]))
  .addNode('reply', askModel)
  .addEdge(START, 'sort')
  .addConditionalEdges('sort', chosenBranch, ['lockers', 'person', END])
  .addEdge('lockers', 'reply')
  .addEdge('reply', END)
  .addEdge('person', END)
  .compile({ name: 'mail-room' });

/** Answers a letter. */
export async function answerLetter(letter: string, lockers: Readonly<Record<string, number>>): Promise<string> {
  const { messages } = await mailRoom.invoke(
    { messages: [{ role: 'user', content: letter }] },
    { context: { lockers: { ...lockers } } },
  );
  return messages.at(-1)?.text ?? '';
}
