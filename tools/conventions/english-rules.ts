import { listFiles, readText } from '../repository-files.ts';
import type { Convention } from './convention.ts';

/** Expressions that are nearly always colloquial in technical prose, each with what to write instead. */
const colloquial: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [/\b(nobody|somebody|whoever|whom)\b/i, 'name the component: caller, client, worker, upstream'],
  [/\b(told|tells)\b/i, 'use send, return, report, log, emit or notify'],
  [/\b(is none|is no|knows of none)\b/, 'use plain negation: is not, has no, there is no'],
  [/\b(left in peace|at peace)\b/i, 'name the state: idle, backoff'],
  [/\b(as it is|as they are)\b/i, 'use unchanged'],
  [/\bof (its|their|his|our|your) own\b/i, 'use its own … or a separate …'],
  [/\bof now\b/i, 'use current'],
  [/\bby (itself|themselves)\b/i, 'use automatically or alone'],
  [/\b(let in|lets in|let go|lets go)\b/i, 'use admit or release'],
  [/\bin (the )?place of\b/i, 'use instead of'],
  [/\bso many (steps|rollouts|tasks|turns|tokens|rows|pairs|milliseconds)\b/i, 'use a maximum, a number of … or per …'],
  [/\b(goes|go|went|gone|going) (on|with)\b/i, 'use continue, resume or belong to'],
  [
    /\banswer(s|ed|ing)? (with )?(status |a status|[1-5]\d\d\b)|\b[1-5]\d\d is answered\b|\banswer(s|ed|ing)? (a |an |the |every |each |all )?(request|call|probe|heartbeat)s?\b/i,
    'use respond to, return or serve',
  ],
];

/** Packages without questions to answer: their requests have responses, and their models completions. */
const answersNothing =
  /^packages\/((store|gateway|runtime|runtime-cpu|runtime-tinker)\/(src|proto)|core\/src\/(protocol|server|store-client))\//;

const answer: (typeof colloquial)[number] = [/\w*answer\w*/i, 'use response, result or completion'];

/** Sources whose options and fields are documented with noun phrases. */
const hasNounPhrases = /^(packages|apps\/trainer|tools)\/.*\.ts$/;

const questionAsNoun: (typeof colloquial)[number] = [
  /^\s*(\/\*\*|\*) ((on|in|into|by|for) )?how (often|many|much|long|far)\b/i,
  'use a noun phrase: number of, maximum, interval, timeout, grace period',
];

/** Tool descriptions are prompts: models are trained on their wording. */
const isPrompt = /^\s*description: '/;

/** Proper uses: `there is no`, `this is no longer`. */
const properUse = /\bthere is no\b|\bis no (longer|more|less|greater|later|earlier)\b/gi;

const hasProse = (path: string): boolean =>
  /\.(ts|tsx|cjs|py|proto|md|css|grit)$/.test(path) &&
  !/\.api\.md$|(^|\/)(gen|fixtures|\.changeset|CHANGELOG\.md)(\/|$)/.test(path) &&
  path !== 'tools/conventions/english-rules.ts';

const standardEnglish: Convention = {
  name: 'names and prose use standard technical English',
  findProblems: () =>
    listFiles(hasProse).flatMap((path) =>
      readText(path)
        .split('\n')
        .flatMap((text, index) =>
          (isPrompt.test(text) ? [] : problemsOf(text, rulesOf(path))).map(
            (problem) => `${path}:${index + 1}: ${problem}`,
          ),
        ),
    ),
};

function rulesOf(path: string): typeof colloquial {
  return [
    ...colloquial,
    ...(answersNothing.test(path) && !path.includes('.test.') ? [answer] : []),
    ...(hasNounPhrases.test(path) ? [questionAsNoun] : []),
  ];
}

function problemsOf(text: string, rules: typeof colloquial): readonly string[] {
  const rest = text.replace(properUse, '');
  return rules.flatMap(([pattern, remedy]) => {
    const match = pattern.exec(rest);
    return match === null ? [] : [`"${match[0]}": ${remedy}`];
  });
}

/** Conventions about language. */
export const englishRules: readonly Convention[] = [standardEnglish];
