/**
 * The floors of ARCHITECTURE.md: folders of a package do not need each other in a circle. Files at the root of `src`, which
 * put a package together, and tests are left out.
 */

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles-between-folders',
      comment: 'A folder is a floor: it imports those below it. Move the shared type or function down, or pass it in.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    ...require('./.dependency-cruiser.cjs').options,
    exclude: { path: ['\\.test\\.tsx?$', '(^|/)(dist|gen|test|testing)/'] },
  },
};
