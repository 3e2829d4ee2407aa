// @ts-check
// What the modules of the page of hits have in common: finding elements, transitions, and answers in their order.

import { page } from "./page.js";

/** @type {(css: string, at?: ParentNode | null) => any[]} */
export const all = (css, at = document) => (at ? [...at.querySelectorAll(css)] : []);
/** @type {(css: string, at?: ParentNode | null) => any} */
export const one = (css, at = document) => at?.querySelector(css) ?? null;

/**
 * Change the page, with a transition where the browser has them; the promise waits for the change.
 * @param {() => void} change
 * @returns {Promise<void>}
 */
export const moved = (change) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
  if (still || !document.startViewTransition) return Promise.resolve(change());
  const transition = document.startViewTransition(change);
  transition.ready.catch(() => null); // another change came meanwhile
  return transition.updateCallbackDone;
};

/**
 * The one counter of questions of a part of the page. An answer that comes after that of a later question is dropped.
 * @returns {{asked: number, outdate: () => void, isLast: (mine: number) => boolean, fragment: (address: string) => Promise<any>}}
 */
export const questions = () => {
  let used = 0; // the last question that was answered
  const counter = {
    asked: 0,
    // What is shown now is newer than every answer that is on its way.
    outdate: () => {
      used = ++counter.asked;
    },
    isLast: (mine) => mine === counter.asked,
    // The server's HTML as {mine, status, later, content}; null if a later question was answered before.
    fragment: async (address) => {
      const mine = ++counter.asked;
      const answer = await page.fragment(address);
      if (mine < used) return null;
      used = mine;
      return { ...answer, mine };
    },
  };
  return counter;
};
