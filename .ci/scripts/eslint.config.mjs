import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser, ecmaVersion: 2024 },
    rules: { "no-empty": ["error", { allowEmptyCatch: true }], eqeqeq: "error", "prefer-const": "error" },
  },
];
