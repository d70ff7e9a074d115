/** A command in a project, and what its output must have. */
export type ProjectStep = readonly [command: readonly string[], output: RegExp];

/** An existing project of a user, with an agent that knows nothing of Agent Lightning. */
export interface ExistingProject {
  /** What kind of project it is, as the rehearsal reports it. */
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** What its author has installed. */
  readonly packages: readonly string[];
  /** The adapter that `agl init` names. */
  readonly adapter: string;
  /** The checks and builds of the project itself, after `agl init`. */
  readonly checks: readonly ProjectStep[];
}

const aiAgent = `import { openai } from '@ai-sdk/openai';
import { generateText } from 'ai';

export async function answer(question: string): Promise<string> {
  const { text } = await generateText({ model: openai.chat('gpt-4.1-mini'), prompt: question });
  return text;
}
`;

const types = ['typescript@5', '@types/node@24'];

const isClean = /^\s*$/;

const nextConfiguration = {
  compilerOptions: {
    target: 'ES2017',
    lib: ['dom', 'dom.iterable', 'esnext'],
    strict: true,
    noEmit: true,
    esModuleInterop: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    resolveJsonModule: true,
    isolatedModules: true,
    jsx: 'react-jsx',
    skipLibCheck: true,
    incremental: true,
    plugins: [{ name: 'next' }],
  },
  include: ['next-env.d.ts', '**/*.ts', '**/*.tsx', '.next/types/**/*.ts'],
  exclude: ['node_modules'],
};

/** The projects that `agl init` is rehearsed in. */
export const existingProjects: readonly ExistingProject[] = [
  {
    name: 'ES modules without a type check',
    packages: ['ai@^7', '@ai-sdk/openai@^4'],
    adapter: '@agentlightning/ai-sdk',
    files: {
      'package.json': JSON.stringify({ name: 'an-agent', private: true, type: 'module' }),
      'src/answer.ts': aiAgent,
    },
    checks: [],
  },
  {
    name: 'Next.js 16',
    packages: [
      'next@16',
      'react@19',
      'react-dom@19',
      '@types/react@19',
      'ai@^7',
      '@ai-sdk/openai@^4',
      'server-only',
      ...types,
    ],
    adapter: '@agentlightning/ai-sdk',
    files: {
      'package.json': JSON.stringify({ name: 'a-site', private: true }),
      'tsconfig.json': JSON.stringify(nextConfiguration),
      'lib/answer.ts': `import 'server-only';\n${aiAgent}`,
      'app/layout.tsx':
        'export default function Layout({ children }: { children: React.ReactNode }) {\n  return <html><body>{children}</body></html>;\n}\n',
      'app/page.tsx': 'export default function Page() {\n  return <main>Ask.</main>;\n}\n',
      'app/api/answer/route.ts':
        "import { answer } from '../../../lib/answer';\n\nexport async function POST(request: Request) {\n  return Response.json(await answer(await request.text()));\n}\n",
    },
    checks: [
      [['npx', 'tsc', '--noEmit'], isClean],
      [['npx', 'next', 'build'], /Compiled successfully/],
    ],
  },
  {
    name: 'Express in CommonJS',
    packages: ['express@5', '@types/express@5', 'openai@^7', ...types],
    adapter: '@agentlightning/fetch',
    files: {
      'package.json': JSON.stringify({ name: 'a-service', private: true }),
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          module: 'commonjs',
          target: 'es2022',
          strict: true,
          esModuleInterop: true,
          outDir: 'dist',
          skipLibCheck: true,
        },
      }),
      'src/answer.ts': `import OpenAI from 'openai';

const client = new OpenAI();

export async function answer(question: string): Promise<string> {
  const messages = [{ role: 'user' as const, content: question }];
  const completion = await client.chat.completions.create({ model: 'gpt-4.1-mini', messages });
  return completion.choices[0]?.message.content ?? '';
}
`,
      'src/server.ts': `import express from 'express';
import { answer } from './answer';

const app = express();
app.get('/', async (request, response) => {
  response.send(await answer(String(request.query.q)));
});
export default app;
`,
    },
    // Its build, which is also its type check.
    checks: [[['npx', 'tsc'], isClean]],
  },
  {
    name: 'strict with path aliases',
    packages: ['ai@^7', '@ai-sdk/openai@^4', ...types],
    adapter: '@agentlightning/ai-sdk',
    files: {
      'package.json': JSON.stringify({ name: 'a-strict-agent', private: true, type: 'module' }),
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          module: 'esnext',
          moduleResolution: 'bundler',
          target: 'es2022',
          strict: true,
          noUncheckedIndexedAccess: true,
          exactOptionalPropertyTypes: true,
          noPropertyAccessFromIndexSignature: true,
          noUnusedLocals: true,
          noUnusedParameters: true,
          verbatimModuleSyntax: true,
          noEmit: true,
          skipLibCheck: true,
          types: ['node'],
          paths: { '@/*': ['./src/*'] },
        },
      }),
      'src/model.ts': "import { openai } from '@ai-sdk/openai';\n\nexport const model = openai.chat('gpt-4.1-mini');\n",
      'src/answer.ts': `import { generateText } from 'ai';
import { model } from '@/model';

export async function answer(question: string): Promise<string> {
  return (await generateText({ model, prompt: question })).text;
}
`,
    },
    checks: [[['npx', 'tsc', '--noEmit'], isClean]],
  },
];
