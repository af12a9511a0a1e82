extern main { } // E0713
