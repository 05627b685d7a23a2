// What is checked in the portal's sources beyond types: accessibility, hooks, and promises that nobody waits for.
import js from '@eslint/js';
import a11y from 'eslint-plugin-jsx-a11y';
import hooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'src/api/schema.d.ts'] },
  js.configs.recommended,
  {
    files: ['{src,bench}/**/*.{ts,tsx}'],
    extends: [...tseslint.configs.recommendedTypeChecked, a11y.flatConfigs.strict],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'react-hooks': hooks },
    rules: {
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    files: ['{scripts,e2e}/**/*.mjs', 'public/*.js', '*.js'],
    languageOptions: {
      globals: { console: 'readonly', process: 'readonly', URL: 'readonly', localStorage: 'readonly', document: 'readonly', window: 'readonly', fetch: 'readonly', setTimeout: 'readonly', crypto: 'readonly', Buffer: 'readonly' },
    },
  },
  { files: ['scripts/*.ts', 'vite.config.ts'], extends: [...tseslint.configs.recommended] },
);
