import type { OptimizerMessage, PromptSearchContext } from '@agentlightning/core/algorithm';
import { replyFormat } from './optimizer-replies.ts';

/** A prompt that the optimiser model is asked about. */
export interface PromptSubject {
  readonly name: string;
  readonly kind: 'instruction' | 'tool';
  readonly template: string;
}

/** The prompt of a version, as the optimiser model is asked about it. */
export function subjectOf(
  { initial, searched }: Pick<PromptSearchContext, 'initial' | 'searched'>,
  name: string,
  prompts: PromptSearchContext['initial'],
): PromptSubject {
  const kind = searched?.[name]?.kind === 'tool' ? 'tool' : 'instruction';
  return { name, kind, template: (prompts[name] ?? initial[name])?.template ?? '' };
}

/** The words of the requests, by kind of prompt. */
const texts = {
  instruction: {
    title: 'prompt',
    criticiser:
      'You find out why an AI agent does badly. You look at its prompt and at what it did, and say what in the prompt is to blame.',
    rewriter: 'You rewrite prompts of AI agents so that the agents do better.',
    reflector:
      'You improve the prompts of AI agents. You read what an agent did, learn from it, and write that into its prompt.',
    noun: 'the prompt',
    goal: 'Write a new prompt that has what is needed to do such tasks well: facts about the domain, rules, a way to go about it.',
    note: '',
  },
  tool: {
    title: 'description of the tool',
    criticiser:
      'You find out why an AI agent does badly. You look at the description of one of its tools and at what it did, and say what in the description is to blame.',
    rewriter:
      'You rewrite descriptions of tools of AI agents so that the agents call the right tools with the right arguments.',
    reflector:
      'You improve the descriptions of tools of AI agents. You read what an agent did, learn from it, and write that into the description.',
    noun: 'the description',
    goal: 'Write a new description from which a model knows when to call the tool, when not to, and what each argument must contain.',
    note: ' The model of the agent chooses the tool and its arguments by the description. The name of the tool and its arguments cannot change.',
  },
} as const satisfies Record<PromptSubject['kind'], Readonly<Record<string, string>>>;

/** Requests a criticism of a prompt. */
export function criticismMessages(subject: PromptSubject, transcripts: string): readonly OptimizerMessage[] {
  const { criticiser, noun, note } = texts[subject.kind];
  return [
    { role: 'system', content: criticiser },
    {
      role: 'user',
      content: `${headingOf(subject)}\n\nWhat the agent did with it:\n\n${transcripts}\n\nSay in a few sentences what is missing in ${noun} or wrong with it, the most harmful first. Say what to change, and do not rewrite it yet.${note}`,
    },
  ];
}

/** Requests a new version of a criticised prompt. */
export function rewriteMessages(subject: PromptSubject, criticism: string): readonly OptimizerMessage[] {
  const { rewriter, note } = texts[subject.kind];
  return [
    { role: 'system', content: rewriter },
    {
      role: 'user',
      content: `${headingOf(subject)}\n\nWhat is wrong with it:\n\n${criticism}\n\nRewrite it.${note}\n${replyFormat}`,
    },
  ];
}

/** Requests a new version of a prompt from transcripts. */
export function reflectionMessages(subject: PromptSubject, transcripts: string): readonly OptimizerMessage[] {
  const { reflector, goal, note } = texts[subject.kind];
  return [
    { role: 'system', content: reflector },
    {
      role: 'user',
      content: `${headingOf(subject)}\n\nWhat the agent did with it, and how it was judged:\n\n${transcripts}\n\nFind out what the tasks ask for, what went wrong and what worked. ${goal}${note}\n${replyFormat}`,
    },
  ];
}

function headingOf({ kind, name, template }: PromptSubject): string {
  return `The ${texts[kind].title} "${name}":\n\n${template}`;
}
