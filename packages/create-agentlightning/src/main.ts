#!/usr/bin/env node
// Old versions of Node must be able to parse this file: no static import of the rest, no top-level await.

/** The lowest supported version of Node, as `engines` of the package and of the created project has it, which exclude 23. */
const [lowestMajor, lowestMinor, excludedMajor] = [22, 16, 23];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if ((major > lowestMajor && major !== excludedMajor) || (major === lowestMajor && minor >= lowestMinor)) {
  void create();
} else {
  process.stderr.write(
    `error: Agent Lightning requires Node.js ${lowestMajor}.${lowestMinor} or later, but not ${excludedMajor}, and this is ${process.versions.node}. ` +
      'Nothing was written or installed. Install Node.js 24 from https://nodejs.org.\n',
  );
  process.exitCode = 2;
}

async function create(): Promise<void> {
  const { runCreate } = await import('./run-create.ts');
  process.exitCode = await runCreate(process.argv.slice(2), process.env['npm_config_user_agent']);
}
