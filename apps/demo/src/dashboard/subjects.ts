/** Whom and what the dashboard's buttons work with. */

/** The client whose orders are limited. */
export const BUYER = 'dashboard';
/** Who logs in; the password is the name, backwards. */
export const USER = 'dashboard';
/** The product that is ordered, and the one that is evicted and read by many. */
export const ORDERED = 1;
export const STAMPEDED = 2;
