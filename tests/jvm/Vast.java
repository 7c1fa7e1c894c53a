import java.util.Scanner;

/**
 * A program with a method of so many variables that the JVM's verifier takes long for a handler around the method, and
 * a method of few variables. `run N` calls each N times, of which the answer is the calls so far.
 */
public class Vast {
    static long vast(long n) {
        long v0 = n + 2, v1 = n + 3, v2 = n + 4, v3 = n + 5, v4 = n + 6, v5 = n + 7, v6 = n + 8, v7 = n + 9,
            v8 = n + 10, v9 = n + 11, v10 = n + 12, v11 = n + 13, v12 = n + 14, v13 = n + 15, v14 = n + 16,
            v15 = n + 17, v16 = n + 18, v17 = n + 19, v18 = n + 20, v19 = n + 21, v20 = n + 22, v21 = n + 23,
            v22 = n + 24, v23 = n + 25, v24 = n + 26, v25 = n + 27, v26 = n + 28, v27 = n + 29, v28 = n + 30,
            v29 = n + 31, v30 = n + 32, v31 = n + 33, v32 = n + 34, v33 = n + 35, v34 = n + 36, v35 = n + 37,
            v36 = n + 38, v37 = n + 39, v38 = n + 40, v39 = n + 41, v40 = n + 42, v41 = n + 43, v42 = n + 44,
            v43 = n + 45, v44 = n + 46, v45 = n + 47, v46 = n + 48, v47 = n + 49, v48 = n + 50, v49 = n + 51,
            v50 = n + 52, v51 = n + 53, v52 = n + 54, v53 = n + 55, v54 = n + 56, v55 = n + 57, v56 = n + 58,
            v57 = n + 59, v58 = n + 60, v59 = n + 61, v60 = n + 62, v61 = n + 63, v62 = n + 64, v63 = n + 65,
            v64 = n + 66, v65 = n + 67, v66 = n + 68, v67 = n + 69, v68 = n + 70, v69 = n + 71, v70 = n + 72,
            v71 = n + 73, v72 = n + 74, v73 = n + 75, v74 = n + 76, v75 = n + 77, v76 = n + 78, v77 = n + 79,
            v78 = n + 80, v79 = n + 81;
        return v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 + v10 + v11 + v12 + v13 + v14 + v15 + v16 + v17
            + v18 + v19 + v20 + v21 + v22 + v23 + v24 + v25 + v26 + v27 + v28 + v29 + v30 + v31 + v32 + v33
            + v34 + v35 + v36 + v37 + v38 + v39 + v40 + v41 + v42 + v43 + v44 + v45 + v46 + v47 + v48 + v49
            + v50 + v51 + v52 + v53 + v54 + v55 + v56 + v57 + v58 + v59 + v60 + v61 + v62 + v63 + v64 + v65
            + v66 + v67 + v68 + v69 + v70 + v71 + v72 + v73 + v74 + v75 + v76 + v77 + v78 + v79;
    }

    static long narrow(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++) {
            sum += i * n;
        }
        return sum;
    }

    public static void main(String[] args) {
        Scanner lines = new Scanner(System.in);
        long sum = 0;
        int calls = 0;
        System.out.println("ready");
        while (lines.hasNextLine()) {
            int count = Integer.parseInt(lines.nextLine().split(" ")[1]);
            for (int i = 0; i < count; i++) {
                sum += vast(sum) + narrow(3);
            }
            calls += count;
            System.out.println(calls);
        }
        System.err.println(sum);
    }
}
