/** What programs say to Treadle: see {@link treadle.Activity}. */
package treadle;
